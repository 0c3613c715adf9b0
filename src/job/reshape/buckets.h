// Two-pass buckets: writes shards of the output without ever reading the input at random.
//
//   pass 1   each shard of the input from front to back; every sample, as it will be written, is
//            appended to the bucket of its position in the output
//   pass 2   each bucket whole into memory, put in order, and written
//
//   output   |------ shard 0 ------|-- shard 1 --| shard 2 | shard 3 | …
//   buckets  |---0---|---1---|--2--|---3---|--4--|-------- 5 --------|     a part of a shard, or
//                                                                          several whole ones
//
// Memory: at most `memory_bytes`, whatever the size of the data, but for the indexes of the shards
// that are being read. Scratch: the size of the output, in
// files without a name, which end with the process. The bytes written are those of range-gather.
#pragma once

#include <vector>

#include "job/progress.h"
#include "job/publish.h"
#include "job/reshape/plan.h"
#include "job/reshape/spill_sort.h"

namespace headrace {

/// Writes the shards of `tasks`, each with its record. A folder for scratch that is missing is
/// made. Precondition: the order has one column.
Status bucket_shards(const ReshapePlan& plan, const WorkRoom& room, Store& store,
                     Publication& publication, const std::vector<uint64_t>& tasks,
                     Progress& progress);

}  // namespace headrace
