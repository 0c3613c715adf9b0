// Where the bytes of a compressed archive are: frames, each of which can be decoded by itself.
//
//   object    |zstd frame 0 |zstd frame 1  |skipped|zstd frame 2|      encoded offsets
//   decoded   |hdr|jpg ....... |hdr|cls|hdr|jpg .......|000|           decoded offsets
//
// Readers of an archive see the decoded bytes alone: a tar behind zstd, gzip or lz4 as that tar, a
// zip as its members' contents one behind the other, a Parquet file as its rows' values.
//
// Thread-safety: a plain value; share it when it is complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/bytes.h"

namespace headrace {

/// How the bytes of a frame are packed. The numbers are those of the index section.
enum class Encoding : uint8_t {
  kStored = 0,
  kDeflate = 1,      ///< a bare deflate stream, as in zip
  kGzip = 2,         ///< a gzip member
  kLz4 = 3,          ///< an lz4 frame
  kLz4Block = 4,     ///< a block of an lz4 frame whose blocks are independent
  kZstd = 5,         ///< a zstd frame
  kDeflatePart = 6,  ///< a part of a deflate stream that begins anew behind a full flush
  kRowGroup = 7,     ///< a row group of a Parquet file, whose footer is needed (parquet/rows.h)
};

/// Frames are decoded whole, so a larger one cannot be read at random (stored ones can).
inline constexpr uint64_t kLargestFrame = uint64_t{128} << 20;

struct Frame {
  uint64_t encoded_offset = 0;  ///< in the object
  uint64_t encoded_size = 0;
  uint64_t decoded_offset = 0;
  uint64_t decoded_size = 0;  ///< at least 1; kStored: encoded_size
  uint32_t crc32 = 0;         ///< of the decoded bytes; 0: the frame itself knows, or nobody
  Encoding encoding = Encoding::kStored;

  uint64_t decoded_end() const { return decoded_offset + decoded_size; }
  uint64_t encoded_end() const { return encoded_offset + encoded_size; }
};

class FrameMap {
 public:
  /// Appends a frame; its decoded offset is the end of the one before. Precondition: it does not
  /// begin before that one's encoded end.
  void add(Frame frame);

  bool empty() const { return frames_.empty(); }
  const std::vector<Frame>& frames() const { return frames_; }
  uint64_t decoded_size() const { return frames_.empty() ? 0 : frames_.back().decoded_end(); }
  /// The number of the frame that holds the decoded byte. Precondition: offset < decoded_size().
  size_t at(uint64_t offset) const;
  /// Whether every frame is as it will be read.
  bool is_stored() const;
  uint64_t memory_bytes() const { return frames_.size() * sizeof(Frame); }

  /// The columns of an index section (docs/format.md).
  void append_columns(std::string& out) const;
  /// Takes them off the front of `bytes`. Nothing unless every frame is of a known kind and size,
  /// lies behind the one before and inside an object of `object_bytes`.
  static std::optional<FrameMap> take_columns(ByteView& bytes, uint32_t count,
                                              uint64_t object_bytes);

 private:
  std::vector<Frame> frames_;
};

}  // namespace headrace
