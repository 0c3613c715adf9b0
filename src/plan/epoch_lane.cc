#include "plan/epoch_lane.h"

#include <algorithm>

#include "plan/order_keys.h"

namespace headrace {

EpochLane::EpochLane(std::shared_ptr<const Order> order, uint64_t epoch, uint64_t lane)
    : order_(std::move(order)),
      key_(lane_key(order_->options().seed, epoch, lane)),
      begin_(order_->lane_begin(lane)),
      end_(order_->lane_begin(lane + 1)),
      first_window_(order_->window()) {
  if (!order_->options().shuffle || size() == 0) return;
  if (size() > order_->window()) first_window_ = 1 + scale_bits(jitter_key(key_), order_->window());

  first_rank_ = order_->rank_of(begin_);
  const uint64_t last_rank = order_->rank_of(end_ - 1);
  uint64_t blocks = 0;
  rank_blocks_.reserve(last_rank - first_rank_ + 2);
  for (uint64_t rank = first_rank_; rank <= last_rank; ++rank) {
    rank_blocks_.push_back(blocks);
    const uint64_t shard_begin = order_->rank_begin(rank);
    const uint64_t from = std::max(begin_, shard_begin) - shard_begin;
    const uint64_t to = std::min(end_, order_->rank_begin(rank + 1)) - shard_begin;
    const uint64_t block_samples = order_->table().block_samples[order_->shard(rank)];
    if (to > from) blocks += (to - 1) / block_samples - from / block_samples + 1;
  }
  rank_blocks_.push_back(blocks);

  blocks_ = Permutation(blocks, block_key(key_));
  starts_.reserve(blocks / kStride + 1);
  uint64_t start = 0;
  for (uint64_t index = 0; index < blocks; ++index) {
    if (index % kStride == 0) starts_.push_back(start);
    start += permuted_block(index).count;
  }
}

BlockPart EpochLane::block(uint64_t id) const {
  const auto after = std::upper_bound(rank_blocks_.begin(), rank_blocks_.end(), id);
  const auto nth = static_cast<uint64_t>(after - rank_blocks_.begin()) - 1;
  const uint64_t rank = first_rank_ + nth;
  const uint32_t shard = order_->shard(rank);
  const uint64_t block_samples = order_->table().block_samples[shard];
  const uint64_t shard_begin = order_->rank_begin(rank);
  const uint64_t from = std::max(begin_, shard_begin) - shard_begin;
  const uint64_t to = std::min(end_, order_->rank_begin(rank + 1)) - shard_begin;
  const uint64_t number = from / block_samples + (id - rank_blocks_[nth]);
  const uint64_t first = std::max(from, number * block_samples);
  const uint64_t last = std::min(to, (number + 1) * block_samples);
  return {shard, static_cast<uint32_t>(number), static_cast<uint32_t>(first),
          static_cast<uint32_t>(last - first)};
}

EpochLane::Found EpochLane::find(uint64_t at) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), at);
  const auto kept = static_cast<uint64_t>(after - starts_.begin()) - 1;
  Found found{kept * kStride, starts_[kept], permuted_block(kept * kStride)};
  while (at - found.start >= found.part.count) {
    found.start += found.part.count;
    found.part = permuted_block(++found.index);
  }
  return found;
}

uint64_t EpochLane::start_of(uint64_t index) const {
  uint64_t start = starts_[index / kStride];
  for (uint64_t before = index / kStride * kStride; before < index; ++before)
    start += permuted_block(before).count;
  return start;
}

uint64_t EpochLane::windows() const {
  if (size() <= first_window_) return size() == 0 ? 0 : 1;
  return 1 + divide_up(size() - first_window_, order_->window());
}

OffsetRange EpochLane::window(uint64_t i) const {
  if (i == 0) return {0, std::min(first_window_, size())};
  const uint64_t begin = first_window_ + (i - 1) * order_->window();
  return {begin, std::min(begin + order_->window(), size())};
}

uint64_t EpochLane::window_of(uint64_t offset) const {
  return offset < first_window_ ? 0 : 1 + (offset - first_window_) / order_->window();
}

std::vector<BlockPart> EpochLane::unshuffled_blocks(OffsetRange range) const {
  std::vector<BlockPart> parts;
  for (uint64_t at = range.begin; at < range.end; at += parts.back().count) {
    const SampleRef sample = order_->sample_at(begin_ + at);
    const uint32_t block_samples = order_->table().block_samples[sample.shard];
    const uint32_t number = sample.sample / block_samples;
    const uint64_t block_end = std::min<uint64_t>(order_->table().samples[sample.shard],
                                                  (uint64_t{number} + 1) * block_samples);
    const uint64_t count = std::min(block_end - sample.sample, range.end - at);
    parts.push_back({sample.shard, number, sample.sample, static_cast<uint32_t>(count)});
  }
  return parts;
}

std::vector<BlockPart> EpochLane::blocks(uint64_t window_index) const {
  const OffsetRange range = window(window_index);
  if (!order_->options().shuffle) return unshuffled_blocks(range);
  std::vector<BlockPart> parts;
  Found found = find(range.begin);
  for (;;) {
    const uint64_t found_end = found.start + found.part.count;
    const auto cut = static_cast<uint32_t>(std::max(found.start, range.begin) - found.start);
    BlockPart part = found.part;
    part.first += cut;
    part.count = static_cast<uint32_t>(std::min(found_end, range.end) - found.start) - cut;
    parts.push_back(part);
    if (found_end >= range.end) return parts;
    found = {found.index + 1, found_end, permuted_block(found.index + 1)};
  }
}

Permutation EpochLane::window_permutation(uint64_t window_index) const {
  return {window(window_index).size(), window_key(key_, window_index)};
}

SampleRef EpochLane::sample(uint64_t offset) const {
  if (!order_->options().shuffle) return order_->sample_at(begin_ + offset);
  const uint64_t index = window_of(offset);
  const uint64_t begin = window(index).begin;
  const uint64_t at = begin + window_permutation(index)(offset - begin);
  const Found found = find(at);
  return {found.part.shard, found.part.first + static_cast<uint32_t>(at - found.start)};
}

uint64_t EpochLane::offset(SampleRef sample) const {
  const uint64_t place = order_->place_of(sample);
  if (!order_->options().shuffle) return place - begin_;
  const uint64_t rank = order_->rank_of(place);
  const uint64_t block_samples = order_->table().block_samples[sample.shard];
  const uint64_t shard_begin = order_->rank_begin(rank);
  const uint64_t from = std::max(begin_, shard_begin) - shard_begin;
  const uint64_t id =
      rank_blocks_[rank - first_rank_] + (sample.sample / block_samples - from / block_samples);
  const uint64_t at = start_of(blocks_.inverse(id)) + (sample.sample - block(id).first);
  const uint64_t index = window_of(at);
  const uint64_t begin = window(index).begin;
  return begin + window_permutation(index).inverse(at - begin);
}

void LaneReader::enter(uint64_t window) {
  range_ = lane_.window(window);
  permutation_ = lane_.window_permutation(window);
  parts_ = lane_.blocks(window);
  ends_.clear();
  uint64_t end = 0;
  for (const BlockPart& part : parts_) ends_.push_back(end += part.count);
}

void LaneReader::enter_window_of(uint64_t offset) {
  if (offset < range_.begin || offset >= range_.end) enter(lane_.window_of(offset));
}

size_t LaneReader::part_number(uint64_t index) const {
  return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
}

SampleRef LaneReader::at(uint64_t index) const {
  const size_t nth = part_number(index);
  const BlockPart& part = parts_[nth];
  return {part.shard, part.first + static_cast<uint32_t>(part.count - (ends_[nth] - index))};
}

void LaneReader::read(uint64_t begin, std::span<SampleRef> out) {
  const bool shuffle = lane_.order().options().shuffle;
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t offset = begin + i;
    enter_window_of(offset);
    const uint64_t index = offset - range_.begin;
    out[i] = at(shuffle ? permutation_(index) : index);
  }
}

BlockPart LaneReader::part(uint64_t offset) {
  enter_window_of(offset);
  const uint64_t index = offset - range_.begin;
  const bool shuffle = lane_.order().options().shuffle;
  return parts_[part_number(shuffle ? permutation_(index) : index)];
}

}  // namespace headrace
