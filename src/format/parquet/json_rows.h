// Puts the leaves of a nested column together again: each row's value as JSON text.
//
//   struct {a, b}    {"a":…,"b":…}
//   list             […]          also what repeats without being called a list
//   map              [[key,value],…]
//   null             null
//
// Thread-safety: a pure function.
#pragma once

#include <vector>

#include "format/parquet/leaf_entries.h"
#include "format/parquet/schema.h"

namespace headrace::parquet {

/// The rows of `column`; def is 1 where one is there, 0 where it is null. `leaves`: all of the row
/// group, of which those of the column are read as JSON. Errors: Code::kCorrupt where the leaves
/// contradict each other, at `offset`; Code::kUsage where the budget ends.
Result<LeafEntries> join_rows(const Node& column, const std::vector<LeafEntries>& leaves,
                              uint64_t rows, uint64_t offset, Budget& budget);

}  // namespace headrace::parquet
