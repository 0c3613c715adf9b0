// The counts of every shard, by columns: all that the order needs to know of a data set.
//
// Memory: 16 bytes a shard. Thread-safety: a plain value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace headrace {

struct ShardTable {
  std::vector<uint32_t> samples;        ///< samples in the shard; may be 0
  std::vector<uint32_t> block_samples;  ///< B: samples a block; at least 1
  std::vector<uint64_t> bytes;          ///< size of the object (loose files: the sum)

  uint64_t size() const { return samples.size(); }
  uint64_t total_samples() const {
    return std::accumulate(samples.begin(), samples.end(), uint64_t{0});
  }
  uint64_t total_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}); }
};

/// B for tar shards and loose files: even blocks of about 4 MiB of the shard.
inline uint32_t default_block_samples(uint64_t samples, uint64_t bytes) {
  constexpr uint64_t kBlockBytes = uint64_t{4} << 20;
  const uint64_t blocks = std::max<uint64_t>(1, (bytes + kBlockBytes / 2) / kBlockBytes);
  return static_cast<uint32_t>(std::max<uint64_t>(1, (samples + blocks - 1) / blocks));
}

}  // namespace headrace
