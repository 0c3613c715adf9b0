#include "plan/document_lengths.h"

#include <algorithm>
#include <numeric>

namespace headrace {

DocumentLengths::DocumentLengths(std::shared_ptr<const Order> order, LaneRange kept)
    : order_(std::move(order)),
      kept_(kept),
      first_place_(order_->lane_begin(kept.begin)),
      lengths_(order_->lane_begin(kept.end) - first_place_),
      lane_tokens_(order_->lanes()) {}

void DocumentLengths::add(uint32_t shard, std::span<const uint32_t> lengths) {
  if (lengths.empty()) return;
  uint64_t place = order_->place_of({shard, 0});
  for (uint64_t lane = order_->lane_of(place); !lengths.empty(); ++lane) {
    const size_t here =
        std::min<uint64_t>(lengths.size(), order_->lane_begin(lane + 1) - place);  // of this lane
    const auto part = lengths.first(here);
    lane_tokens_[lane] += std::accumulate(part.begin(), part.end(), uint64_t{0});
    if (keeps(lane))
      std::ranges::copy(part, lengths_.begin() + static_cast<std::ptrdiff_t>(place - first_place_));
    place += here;
    lengths = lengths.subspan(here);
  }
}

}  // namespace headrace
