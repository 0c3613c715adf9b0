// What all epochs know of the lengths of documents: the tokens of every lane, and of some lanes the
// length of each document.
//
// Filled shard by shard, in any order; immutable afterwards. Memory: 8 bytes a lane, 4 bytes a
// document of the lanes that are kept. Thread-safety: `add` by one thread at a time; const methods
// by any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/order.h"

namespace headrace {

/// Lanes [begin, end).
struct LaneRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

class DocumentLengths {
 public:
  /// `kept`: the lanes whose documents' lengths are kept.
  DocumentLengths(std::shared_ptr<const Order> order, LaneRange kept);

  /// The lengths of all documents of a shard.
  void add(uint32_t shard, std::span<const uint32_t> lengths);

  const Order& order() const { return *order_; }
  /// The sums of the lanes.
  const std::vector<uint64_t>& lane_tokens() const { return lane_tokens_; }
  bool keeps(uint64_t lane) const { return lane >= kept_.begin && lane < kept_.end; }
  /// Of a document of a lane that is kept.
  uint32_t length(SampleRef document) const {
    return lengths_[order_->place_of(document) - first_place_];
  }

 private:
  std::shared_ptr<const Order> order_;
  LaneRange kept_;
  uint64_t first_place_;
  std::vector<uint32_t> lengths_;  ///< by place
  std::vector<uint64_t> lane_tokens_;
};

}  // namespace headrace
