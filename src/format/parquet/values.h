// The values of one page, whatever encoding they are in: each becomes a view of its stored bytes
// (numbers little-endian, a boolean one byte).
//
// Format: Encodings.md of apache/parquet-format 2.11. Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "format/parquet/pages.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace::parquet {

/// Views of a page's bytes, of `made`, or of the dictionary: valid as long as all of these.
struct Values {
  std::vector<ByteView> views;
  std::string made;  ///< where the encoding does not store the bytes as they are
};

/// Exactly `count` values into `out`, which is used again. Errors: Code::kCorrupt, Code::kUsage.
Status read_values(const Page& page, const ValueType& type, uint32_t count,
                   const std::vector<ByteView>& dictionary, Budget& budget, Values& out);

}  // namespace headrace::parquet
