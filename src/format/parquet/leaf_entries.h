// All entries of one leaf in a row group, as text, with the levels that say what they belong to.
//
// Errors: those of its pages. Thread-safety: a plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/parquet/pages.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace::parquet {

struct LeafEntries {
  std::vector<uint8_t> def;    ///< empty where all is there
  std::vector<uint8_t> rep;    ///< empty where nothing repeats
  std::vector<uint32_t> ends;  ///< of each entry in `text`; what is not there has no bytes
  std::string text;

  size_t size() const { return ends.size(); }
  uint8_t def_of(size_t entry) const { return def.empty() ? 0 : def[entry]; }
  uint8_t rep_of(size_t entry) const { return rep.empty() ? 0 : rep[entry]; }
  std::string_view value(size_t entry) const {
    const uint32_t begin = entry == 0 ? 0 : ends[entry - 1];
    return std::string_view(text).substr(begin, ends[entry] - begin);
  }
};

/// `bytes`: of the chunk. `json`: the values stand in JSON (value_text.h).
Result<LeafEntries> read_leaf(const Leaf& leaf, const Chunk& chunk, ByteView bytes, bool json,
                              Budget& budget);

}  // namespace headrace::parquet
