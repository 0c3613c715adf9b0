// The first bytes of a file of the node cache: which object it holds and how it is cut. Pure: bytes
// in, values out. docs/cache.md has every byte of the file.
//
//   header | name | zeros | one record a granule | zeros | the object's bytes, sparse
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// A record is the XXH3 of the granule's bytes; 0 says that the granule is not there.
using GranuleRecord = uint64_t;

struct EntryHeader {
  static constexpr uint64_t kFixedBytes = 32;
  static constexpr uint64_t kLargestName = 32768;
  static constexpr uint64_t kMostBytes = kFixedBytes + kLargestName;

  uint64_t object_bytes = 0;
  uint32_t granule_bytes = 0;
  std::string name = {};  ///< of the object, for people

  uint64_t granules() const { return (object_bytes + granule_bytes - 1) / granule_bytes; }
  uint64_t granule_begin(uint64_t granule) const { return granule * granule_bytes; }
  uint64_t granule_size(uint64_t granule) const {
    return std::min<uint64_t>(granule_bytes, object_bytes - granule_begin(granule));
  }
  uint64_t records_offset() const;
  uint64_t data_offset() const;
  uint64_t file_bytes() const { return data_offset() + object_bytes; }

  bool operator==(const EntryHeader&) const = default;
};

std::string encode_entry_header(const EntryHeader& header);
/// `bytes` are the first of the file: kMostBytes of them, or all there are. What comes back has
/// numbers that can be computed with; anything else is Code::kCorrupt.
Result<EntryHeader> decode_entry_header(ByteView bytes, const std::string& path);

/// What stands in the record of a granule with these bytes: never 0.
GranuleRecord granule_record(ByteView bytes);

}  // namespace headrace
