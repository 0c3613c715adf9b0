// The keys of every permutation of the order, each a function of the seed and of what it permutes.
// A change here is a change of kOrderVersion.
#pragma once

#include <cstdint>

#include "base/permutation.h"

namespace headrace {

inline uint64_t shard_key(uint64_t seed) { return mix(seed, 1); }
inline uint64_t lane_key(uint64_t seed, uint64_t epoch, uint64_t lane) {
  return mix(mix(mix(seed, 2), epoch), lane);
}
inline uint64_t block_key(uint64_t lane_key) { return mix(lane_key, 0); }
inline uint64_t jitter_key(uint64_t lane_key) { return mix(lane_key, 1); }
inline uint64_t window_key(uint64_t lane_key, uint64_t window) { return mix(lane_key, window + 2); }
/// Of the steps of a bucket by length, which begins at lane offset `begin`; the same in all lanes.
inline uint64_t bucket_key(uint64_t seed, uint64_t epoch, uint64_t begin) {
  return mix(mix(mix(seed, 3), epoch), begin);
}

}  // namespace headrace
