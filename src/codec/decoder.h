// A Decoder turns the bytes of one field into one row of a column, straight into its place.
//
//   auto decoder = make_decoder(spec);                     // checks and compiles the recipe
//   Scratch scratch;                                       // one a thread
//   (*decoder)->decode_into(bytes, key, row, scratch);     // row: row_bytes(bytes.size()) long
//
// Thread-safety: a Decoder is immutable, any number of threads may use it at once; a Scratch
// belongs to one thread at a time.
// Errors: whatever is wrong with the data is Code::kCorrupt; messages name byte offsets inside the
// field. `origin` is left to the caller, who knows the shard.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/field.h"
#include "headrace/result.h"

namespace headrace {

/// What the randomness of a row is a function of.
struct RowKey {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t position = 0;  ///< in the epoch
};

/// What rows a decoder makes.
struct RowShape {
  enum class Kind : uint8_t {
    kFixed,    ///< every row has `dtype` and `shape`: the column is one array
    kEncoded,  ///< a row is the field's own bytes (u8), checked: its size is known beforehand
    kDynamic,  ///< known only after decoding
  };
  Kind kind = Kind::kEncoded;
  std::optional<DType> dtype = DType::u8;  ///< nothing: every row has its own (npy)
  std::vector<int64_t> shape;              ///< kFixed; {} is a scalar
  int ndim = 1;                            ///< -1: every row has its own (npy)
  bool ragged = false;                     ///< kDynamic: also where all rows of a batch are alike

  /// Bytes of a row made from a field of `encoded_size` bytes. Precondition: not kDynamic.
  size_t row_bytes(size_t encoded_size) const;
};

/// A decoded row of its own type and shape. Its spans are valid until the Scratch is used again and
/// while the encoded bytes live (an array stored in our own layout is not copied).
struct DynamicRow {
  DType dtype = DType::u8;
  std::span<const int64_t> shape;
  ByteView bytes;  ///< C order, little-endian
};

/// Memory that decoders use again from row to row: it grows to the largest row and stays.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

  struct Buffers;  ///< src/codec/scratch.h
  Buffers& buffers() { return *buffers_; }

 private:
  std::unique_ptr<Buffers> buffers_;
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  const RowShape& row_shape() const { return row_shape_; }

  /// kDynamic: a guess of how many bytes a row made from `encoded_size` bytes has, so that a place
  /// can be kept for it; 0: no guess.
  virtual size_t expected_bytes([[maybe_unused]] size_t encoded_size) const { return 0; }

  /// Fills `row`, which is exactly row_shape().row_bytes(encoded.size()) long. After an error the
  /// row's bytes are undefined. Precondition: row_shape().kind is not kDynamic.
  virtual Status decode_into(ByteView encoded, const RowKey& key, MutableBytes row,
                             Scratch& scratch) const = 0;

  /// What was drawn for the row that was decoded last with `scratch`, as a JSON array of one object
  /// an operation; empty if this kind of row has no operations.
  virtual std::string explain(const RowKey&, Scratch&) const { return {}; }

  /// The same for every kind of row, with the row in the scratch memory.
  virtual Result<DynamicRow> decode_dynamic(ByteView encoded, const RowKey& key,
                                            Scratch& scratch) const;

  /// The same straight into memory that `place` gives for a row of that shape once it is known;
  /// nullptr there is an error. What lies there after an error is undefined.
  using Place = std::function<std::byte*(std::span<const int64_t> shape)>;
  virtual Status decode_placed(ByteView encoded, const RowKey& key, Scratch& scratch,
                               const Place& place) const;

  /// What stands for a row that could not be decoded: a picture in the middle between black and
  /// white. False, with the row as it was, for other decoders and for rows that are kDynamic.
  virtual bool write_gray(MutableBytes) const { return false; }

 protected:
  explicit Decoder(RowShape row_shape) : row_shape_(std::move(row_shape)) {}

  static Error no_memory();

 private:
  RowShape row_shape_;
};

/// Checks the recipe (Code::kUsage says what is wrong with it) and compiles it. A fallback that
/// does not decode is such an error too.
Result<std::unique_ptr<Decoder>> make_decoder(const FieldSpec& spec);

}  // namespace headrace
