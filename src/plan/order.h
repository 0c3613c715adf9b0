// The Order of one data set: which samples every lane has, for all epochs.
//
//   manifest      | shard 0 | 1 |  shard 2  |   3   |
//   permuted      |  shard 2  | 1 |   3   | shard 0 |       by the seed alone
//   lanes, L = 3  |  lane 0    |  lane 1   |  lane 2  |     lane l = [floor(lN/L), floor((l+1)N/L))
//
// An index in the permuted concatenation is called a `place` here. What happens inside a lane in
// one epoch is EpochLane's business.
//
// Memory: 8 bytes a shard beside the shard table. Look-ups: O(log shards).
// Ownership: shares the shard table. Thread-safety: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/permutation.h"
#include "headrace/order.h"
#include "headrace/result.h"
#include "plan/arithmetic.h"
#include "plan/shard_table.h"

namespace headrace {

/// A sample of a data set: number of the shard, number in the shard.
struct SampleRef {
  uint32_t shard = 0;
  uint32_t sample = 0;
  bool operator==(const SampleRef&) const = default;
};

/// W: how many samples `window_bytes` hold on average, at least the largest block. A pure function
/// of its arguments.
uint64_t window_samples(const ShardTable& table, uint64_t window_bytes);

class Order {
 public:
  /// Code::kUsage for options that contradict each other, Code::kCorrupt for a table that does.
  static Result<std::shared_ptr<const Order>> create(std::shared_ptr<const ShardTable> table,
                                                     const OrderOptions& options);

  uint64_t samples() const { return samples_; }      ///< N
  uint64_t lanes() const { return options_.lanes; }  ///< L
  uint64_t window() const { return window_; }        ///< W, in samples
  const OrderOptions& options() const { return options_; }
  const ShardTable& table() const { return *table_; }

  /// The first place of a lane; lane_begin(lanes()) is N.
  uint64_t lane_begin(uint64_t lane) const {
    return multiply_divide(lane, samples_, options_.lanes);
  }
  uint64_t lane_samples(uint64_t lane) const { return lane_begin(lane + 1) - lane_begin(lane); }
  /// The lane of a place. Precondition: place < samples().
  uint64_t lane_of(uint64_t place) const;

  /// Shards by their rank in the permuted concatenation.
  uint32_t shard(uint64_t rank) const {
    return static_cast<uint32_t>(options_.shuffle ? shards_(rank) : rank);
  }
  uint64_t rank_begin(uint64_t rank) const { return begins_[rank]; }
  /// The rank of the shard that a place is in. Precondition: place < samples().
  uint64_t rank_of(uint64_t place) const;

  /// The place of a sample and back. Preconditions: it is in the table; place < samples().
  uint64_t place_of(SampleRef sample) const;
  SampleRef sample_at(uint64_t place) const;

 private:
  Order(std::shared_ptr<const ShardTable> table, const OrderOptions& options);

  std::shared_ptr<const ShardTable> table_;
  OrderOptions options_;
  uint64_t samples_ = 0;
  uint64_t window_ = 0;
  Permutation shards_;
  std::vector<uint64_t> begins_;  ///< place of each rank's first sample, then N
};

}  // namespace headrace
