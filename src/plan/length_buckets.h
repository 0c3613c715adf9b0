// Buckets by length: the samples that a lane has for a few steps are dealt to these steps anew, so
// that the samples of one step are of similar length.
//
//   a lane, M steps, in its order  | . . . step t . . . | . . . t + 1 . . .  | . . . t + 2 . . .  |
//   by length (ties in order)      | shortest           | middle             | longest            |
//   parts permuted by a key        | middle             | longest            | shortest           |
//
// The key is the same for all lanes, so a step has the same part of every lane, and as lanes are
// random samples of one data set, similar lengths over all ranks, which need not talk for it. It is
// a permutation of a lane's offsets [bucket begin, bucket end), so every promise of the order
// holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

/// For each row of a bucket, in the order of delivery, the place of its sample in `lengths`, which
/// is in the lane's order. `share`: rows that the lane has in one step. Preconditions: share
/// divides lengths.size(), which is below 2^32.
std::vector<uint32_t> deal_by_length(std::span<const uint64_t> lengths, uint64_t share,
                                     uint64_t key);

}  // namespace headrace
