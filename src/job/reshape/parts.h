// Two-pass buckets for tasks that run one by one, in processes and on machines of their own: what
// lies between the passes is at the destination.
//
//   pass 1   a part of the input is read from front to back and written by position:
//            _headrace/pending/<plan>/parts/<part>    record … | where each task's begin, checksum
//   pass 2   a shard is merged from its piece of every part
//
// There are as many parts as tasks, up to a limit. Nobody is told which part to make: a task makes
// those that are missing, and tasks that run at once begin with different ones. A part is put if
// absent, so two that make the same one are harmless. They go with the job's records.
//
// Memory: `memory_bytes`, whatever the size of the data, but for the indexes of the shards that are
// being read. The bytes written are those of range-gather.
#pragma once

#include "job/reshape/buckets.h"

namespace headrace {

/// Writes the shard of `task` with its record. `room.scratch` holds one part at a time.
/// Precondition: the order has one column, and its rows are all there.
Status write_from_parts(const ReshapePlan& plan, const WorkRoom& room, Store& store,
                        Publication& publication, uint64_t task, Progress& progress);

}  // namespace headrace
