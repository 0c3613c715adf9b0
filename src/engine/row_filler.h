// Fills one row of every column: reads the row's bytes and decodes them straight into the batch.
//
//   shard   ..|hdr|jpg bytes................|pad|hdr|cls|pad|..
//                 `---- one read, unless it would waste much -'   into scratch, decoded from there;
//                 `--- of it, large raw fields straight into the slot
//
// A RowFiller belongs to one thread (it owns the scratch memory); what it points to is shared.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/decoder.h"
#include "codec/reused_buffer.h"
#include "engine/block_hints.h"
#include "engine/fetched_span.h"
#include "engine/row_places.h"
#include "engine/timers.h"
#include "headrace/dataset.h"

namespace headrace {

/// A column as the engine makes it.
struct ColumnPlan {
  FieldSpec spec;
  std::unique_ptr<Decoder> decoder;
  bool raw = false;  ///< BytesSpec: the row is the field's bytes, unchecked
};

/// A decoded row that waits for the others to learn the column's size.
struct PendingRow {
  MutableBytes reserved;  ///< in the slot, for a row of this very size; may be empty
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  std::vector<std::byte> elsewhere;  ///< the row, if it was of another size
  ByteView bytes;                    ///< the row, in `reserved` or `elsewhere`
};

/// Where a row goes: a place in the slot, or, for rows of unknown size, a PendingRow.
struct RowTarget {
  MutableBytes bytes = {};
  PendingRow* pending = nullptr;
};

/// The numbers of the columns, each picture right before the masks and boxes that go with it, as
/// their decoders want it.
std::vector<size_t> pictures_first(const std::vector<ColumnPlan>& columns);

class RowFiller {
 public:
  /// All outlive the filler.
  /// `grays`: a picture that cannot be decoded becomes gray.
  RowFiller(const std::vector<ColumnPlan>& columns, Timers& timers, BlockHints& hints,
            bool grays = false)
      : columns_(columns),
        order_(pictures_first(columns)),
        timers_(timers),
        hints_(hints),
        grays_(grays) {}

  /// One row: `places` and `targets` have one entry a column; `fetched` too, where remote bytes are
  /// in memory (nullptr: they are read from their source), or none. `digest`, if asked for, becomes
  /// the XXH3 of the row's encoded fields. `gray` becomes the error of a picture that became gray.
  /// Errors carry column and byte offset, not the shard.
  Status fill(const Dataset& set, uint32_t shard, const ShardView& view,
              std::span<const FieldPlace> places,
              std::span<const std::shared_ptr<const FetchedSpan>> fetched, const RowKey& key,
              std::span<const RowTarget> targets, uint64_t* digest, std::optional<Error>& gray);

  /// From now on, what was drawn for each column (JSON; empty: nothing) goes to `draws`, which has
  /// as many elements.
  void record_draws(std::vector<std::string>* draws) { draws_ = draws; }

  /// Around the rows of a chunk: what costs too much once a row.
  void begin_chunk();
  void end_chunk();

 private:
  Result<ByteView> take(const FetchedSpan& fetched, const FieldPlace& place);
  /// The bytes of column c: those of the span, or read now. Raw ones may already be where they go.
  Result<ByteView> read(const Dataset& set, uint32_t shard, const ShardView& view,
                        const FieldPlace& place, size_t c, const RowTarget& target);
  Result<ByteView> read(const ByteSource& source, const FieldPlace& place, size_t c,
                        const RowTarget& target);
  Status read_span(const ByteSource& source, std::span<const FieldPlace> places,
                   std::span<const RowTarget> targets);
  void cut_span(uint64_t end, std::span<const FieldPlace> places,
                std::span<const RowTarget> targets);
  Status decode(size_t column, ByteView encoded, const RowKey& key, const RowTarget& target);
  Status timed_read(const ByteSource& source, uint64_t offset, std::span<const MutableBytes> parts);

  const std::vector<ColumnPlan>& columns_;
  const std::vector<size_t> order_;  ///< of columns, in which they are decoded
  Timers& timers_;
  BlockHints& hints_;
  const bool grays_;
  Scratch scratch_;
  std::vector<std::string>* draws_ = nullptr;
  ReusedBuffer buffer_;
  MutableBytes span_;  ///< of the row, where its fields are read together; else empty
  uint64_t span_begin_ = 0;
  std::vector<uint32_t> by_place_;   ///< columns in the order of their fields in the span
  std::vector<bool> direct_;         ///< a column: its bytes were read into the slot
  std::vector<MutableBytes> parts_;  ///< of the span: scratch memory, and rows of the slot
  uint64_t bytes_read_ = 0;
  uint64_t read_calls_ = 0;
  uint32_t row_number_ = 0;
  int64_t waits_before_ = 0;  ///< of this thread, when the chunk began
  bool timed_ = false;
};

}  // namespace headrace
