// One lane in one epoch: lane offset -> sample, and back; windows and their blocks.
//
//   lane, by place   | a0 | a1 | a2 |b0| c3 | c4 |       blocks of its shards, cut at the lane's
//   edges blocks permuted  | c3 | a1 |b0| a0 | c4 | a2 | windows          |  0  |    1     |    2
//   |3|     W samples; the first is shorter by a keyed in each window     xxx   permuted   permuted
//   jitter, so that lanes do not refill together
//
// A lane that fits in one window is one window. Without shuffle nothing is permuted.
//
// Memory: 8 bytes per shard of the lane and a byte a block. Building: O(blocks of the lane).
// Ownership: shares the Order. Thread-safety: immutable; a LaneReader belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/permutation.h"
#include "plan/order.h"

namespace headrace {

/// Lane offsets [begin, end).
struct OffsetRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

/// Samples [first, first + count) of a shard, all of block number `block`.
struct BlockPart {
  uint32_t shard = 0;
  uint32_t block = 0;
  uint32_t first = 0;
  uint32_t count = 0;
  bool operator==(const BlockPart&) const = default;
};

class EpochLane {
 public:
  /// Precondition: lane < order->lanes().
  EpochLane(std::shared_ptr<const Order> order, uint64_t epoch, uint64_t lane);

  const Order& order() const { return *order_; }
  uint64_t size() const { return end_ - begin_; }

  uint64_t windows() const;
  /// Precondition: i < windows().
  OffsetRange window(uint64_t i) const;
  /// Precondition: offset < size().
  uint64_t window_of(uint64_t offset) const;
  /// What a window reads, in the order of the permuted blocks. Windows cut blocks as lanes do.
  std::vector<BlockPart> blocks(uint64_t window) const;
  /// Where in blocks(window), counted in samples, each of the window's offsets lies.
  Permutation window_permutation(uint64_t window) const;

  /// Precondition: offset < size().
  SampleRef sample(uint64_t offset) const;
  /// Precondition: the sample is in this lane.
  uint64_t offset(SampleRef sample) const;

 private:
  static constexpr uint64_t kStride = 8;  ///< one kept start per so many permuted blocks

  /// Block number `id` of the lane, by place.
  BlockPart block(uint64_t id) const;
  BlockPart permuted_block(uint64_t index) const { return block(blocks_(index)); }
  /// The permuted block that holds the sample at `at` of their concatenation, and its start there.
  struct Found {
    uint64_t index = 0;
    uint64_t start = 0;
    BlockPart part;
  };
  Found find(uint64_t at) const;
  uint64_t start_of(uint64_t index) const;
  std::vector<BlockPart> unshuffled_blocks(OffsetRange range) const;

  std::shared_ptr<const Order> order_;
  uint64_t key_ = 0;
  uint64_t begin_ = 0;  ///< places of the lane
  uint64_t end_ = 0;
  uint64_t first_window_ = 0;  ///< samples in window 0
  // Only with shuffle:
  uint64_t first_rank_ = 0;            ///< the shard that holds the lane's first place
  std::vector<uint64_t> rank_blocks_;  ///< blocks of the lane before each of its shards
  Permutation blocks_;
  std::vector<uint64_t> starts_;  ///< of permuted blocks 0, kStride, 2 kStride … in concatenation
};

/// Reads consecutive offsets of a lane fast: keeps the blocks of the window it is in.
class LaneReader {
 public:
  explicit LaneReader(EpochLane lane) : lane_(std::move(lane)) {}

  const EpochLane& lane() const { return lane_; }
  /// The samples at offsets begin, begin + 1 … Precondition: begin + out.size() <= lane().size().
  void read(uint64_t begin, std::span<SampleRef> out);
  /// What the window reads of the block that holds the sample at `offset`: bytes that are wanted
  /// together. Precondition: offset < lane().size().
  BlockPart part(uint64_t offset);

 private:
  void enter(uint64_t window);
  void enter_window_of(uint64_t offset);
  /// Number of the part that holds sample `index` of the window.
  size_t part_number(uint64_t index) const;
  SampleRef at(uint64_t index) const;

  EpochLane lane_;
  OffsetRange range_;  ///< of the window entered; empty at first
  Permutation permutation_;
  std::vector<BlockPart> parts_;
  std::vector<uint64_t> ends_;  ///< of parts_ in the window
};

}  // namespace headrace
