// Where one shard of the output ends and the next begins.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "job/reshape/plan.h"
#include "job/reshape/spill_sort.h"

namespace headrace {

struct CutOptions {
  uint64_t shard_bytes = 0;    ///< at most, but for a sample that is larger alone; 0: no limit
  uint64_t shard_samples = 0;  ///< at most; 0: no limit
  uint64_t shards = 0;         ///< exactly, of equal counts (fewer if there are fewer samples)
  uint64_t multiple_of = 1;    ///< a number of shards that this divides, of equal counts
  std::string name = "shard-%06d.tar";
};

/// Cuts the positions [first, first + count) of the order into shards.
///
/// By size: where the order is a permutation, or with `multiple_of`, all shards get equally many
/// samples, and their mean size is the one asked for; otherwise each is filled up to it, for which
/// the indexes are read. Without any limit the template's end says how many there are, else 256
/// MiB.
Result<OutputGroup> cut_shards(const Inputs& inputs, const Assignment& assignment, uint64_t first,
                               uint64_t count, CutOptions options, const WorkRoom& room);

}  // namespace headrace
