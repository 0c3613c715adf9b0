// Range-gather: writes shards of the output by reading each sample where it lies in the input.
//
// Threads cut segments, ask for their bytes, and, when these have come, put headers over them and
// hand them to their shard, which writes them in order. Over a network many segments are asked for
// at once; files are read on the spot. Memory: at most `memory_bytes` of segments, and the indexes.
// The bytes written are the same for any number of threads.
#pragma once

#include <vector>

#include "job/progress.h"
#include "job/publish.h"
#include "job/reshape/plan.h"

namespace headrace {

struct GatherOptions {
  unsigned threads = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;
};

/// Writes the shards of `tasks`, each with its record. Errors: the one that comes first in the
/// output; shards before it are finished.
Status gather_shards(const ReshapePlan& plan, const GatherOptions& options, Store& store,
                     Publication& publication, std::vector<uint64_t> tasks, Progress& progress);

}  // namespace headrace
