// The footer of a Parquet file: its columns, and where the bytes of each row group are.
//
//   |PAR1|column chunk|column chunk|…|column chunk|…|page indexes|footer|length|PAR1|
//         ^ row group 0             ^ row group 1
//
// Nothing that it says is believed: places lie inside the object and row groups behind each other,
// and what a row group claims to hold is bounded here by what Headrace reads at once.
// Format: parquet.thrift of apache/parquet-format 2.11.
// Thread-safety: plain values; share them when they are complete.
#pragma once

#include <cstdint>
#include <vector>

#include "format/parquet/schema.h"
#include "format/tar_walk.h"
#include "headrace/result.h"

namespace headrace::parquet {

/// The numbers are Parquet's.
enum class Codec : uint8_t {
  kNone = 0,
  kSnappy = 1,
  kGzip = 2,
  kBrotli = 4,
  kZstd = 6,
  kLz4Raw = 7,
};

/// The pages of one leaf in one row group.
struct Chunk {
  uint64_t offset = 0;  ///< in the object
  uint64_t bytes = 0;
  uint64_t entries = 0;
  Codec codec = Codec::kNone;
};

struct RowGroup {
  uint64_t rows = 0;          ///< at least 1
  uint64_t begin = 0;         ///< in the object: all its chunks lie from here …
  uint64_t end = 0;           ///< … to here
  std::vector<Chunk> chunks;  ///< of every leaf
};

struct Footer {
  Schema schema;
  std::vector<RowGroup> groups;  ///< without empty ones
};

/// Entries of all leaves of a row group together: what their levels and places take in memory.
inline constexpr uint64_t kMostEntries = uint64_t{1} << 26;

/// What is said of a row group that cannot be read at once.
Error too_large(uint64_t offset);

/// Reads the end of the object. Errors: Code::kCorrupt with an offset; Code::kUsage for what is not
/// read: encrypted files, codecs that are not known, row groups that are too large.
Result<Footer> read_footer(uint64_t object_size, const ReadAt& read);

}  // namespace headrace::parquet
