// A Selection says which samples of a data set to keep: a bit a sample. A data set of the kept ones
// (Dataset::select) is opened without copying or packing anything.
//
//   auto train = Dataset::select(set, *select_by_hash(*set, {.begin = 0.0, .end = 0.9}));
//
// Memory: a bit a sample. Thread-safety: plain values; the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "headrace/dataset.h"
#include "headrace/result.h"

namespace headrace {

struct Selection {
  /// One entry a shard, with one a sample: whether it is kept.
  std::vector<std::vector<bool>> kept;
};

/// A share of the keys: those whose hash lies in [begin, end) of its range from 0 to 1. Ranges that
/// do not overlap give parts that do not, and a key is always on the same side: also when samples
/// are added, packed anew, or lie in several data sets.
struct HashRange {
  double begin = 0;
  double end = 1;
  uint64_t seed = 0;  ///< another seed is another division
};

/// Reads the index of every shard, on `threads` threads (0: one a processor).
/// Code::kUsage unless 0 <= begin <= end <= 1.
Result<Selection> select_by_hash(const Dataset& set, const HashRange& range, unsigned threads = 0);

}  // namespace headrace
