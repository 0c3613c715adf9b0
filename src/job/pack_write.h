// Writes the shards of a pack plan: segments of about 256 KiB are read in parallel and written in
// order, several shards at a time if they are small, one shard by all threads if it is large.
//
//   shard 0  |seg 0|seg 1|seg 2|      a thread takes the next segment, fills its buffer (headers,
//   shard 1  |seg 3|seg 4| …          files, padding), and then writes whatever is next in its
//   shard
//
// Memory: at most `memory_bytes` of buffers. Errors: the one at the lowest position, whatever the
// threads; shards before it are finished.
#pragma once

#include "headrace/store.h"
#include "job/pack.h"
#include "job/pack_plan.h"
#include "job/publish.h"

namespace headrace {

/// Writes the shards for which `done[shard]` is false, each with its record. Returns what was done
/// to their pictures.
Result<PictureReport> write_shards(const PackPlan& plan, const PackOptions& options, Store& store,
                                   Publication& publication, const std::vector<bool>& done,
                                   Progress& progress);

}  // namespace headrace
