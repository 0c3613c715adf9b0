// map: every sample goes through a command or a Python function, and what comes back is written.
// convert does so with what is done to pictures.
//
//   threads    take the next sample, whichever it is     read, mapped, kept until its turn
//   shards     what is next is written, in order         so the bytes depend on no thread
//
// Memory: about `memory_bytes` of samples under way, and one a thread besides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/progress.h"
#include "job/publish.h"
#include "job/reshape/plan.h"

namespace headrace {

struct MapOptions {
  unsigned threads = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;
  std::string scratch;  ///< a local folder for the samples' temporary ones
  std::string python;   ///< program
};

/// Writes the shards of `tasks`, each with its record, and returns what was done to pictures. When
/// it returns, no process that it started is left. Errors: of the first sample that failed, with
/// its shard and key, and of a picture with its offset.
Result<PictureReport> map_shards(const ReshapePlan& plan, const MapOptions& options, Store& store,
                                 Publication& publication, const std::vector<uint64_t>& tasks,
                                 Progress& progress);

}  // namespace headrace
