#include "plan/epoch_steps.h"

#include <algorithm>
#include <string>

#include "base/try.h"
#include "plan/arithmetic.h"

namespace headrace {
namespace {

Error misfit(const std::string& what) {
  return {.code = Code::kUsage,
          .message = what,
          .origin = {},
          .hint = "Resume with the global batch of the state or one that its lanes divide."};
}

Status check_segments(uint64_t samples, uint64_t lanes, const std::vector<BatchSegment>& segments) {
  if (lanes == 0) return misfit("an epoch of 0 lanes");
  if (segments.empty() || segments.front().from != 0)
    return misfit("the first batch segment does not begin at lane offset 0");
  for (size_t k = 0; k < segments.size(); ++k) {
    const auto [from, total] = segments[k];
    if (total == 0 || total % lanes != 0)
      return misfit(std::to_string(lanes) + " lanes do not divide the global batch of " +
                    std::to_string(total) + " rows");
    if (from > samples / lanes)
      return misfit("lane offset " + std::to_string(from) + " is past the end of the epoch");
    if (k == 0) continue;
    const BatchSegment& before = segments[k - 1];
    if (from <= before.from || (from - before.from) % (before.total / lanes) != 0)
      return misfit("no step of " + std::to_string(before.total) + " rows ends at lane offset " +
                    std::to_string(from));
  }
  return {};
}

}  // namespace

Result<EpochSteps> EpochSteps::create(uint64_t samples, uint64_t lanes, Tail tail,
                                      std::vector<BatchSegment> segments) {
  HR_CHECK(check_segments(samples, lanes, segments));
  return EpochSteps(samples, lanes, tail, std::move(segments));
}

EpochSteps::EpochSteps(uint64_t samples, uint64_t lanes, Tail tail,
                       std::vector<BatchSegment> segments)
    : samples_(samples), lanes_(lanes), tail_(tail), segments_(std::move(segments)) {
  for (size_t k = 0; k < segments_.size(); ++k) {
    steps_before_.push_back(full_steps_);
    const uint64_t share = segments_[k].total / lanes_;
    full_steps_ += k + 1 < segments_.size()
                       ? (segments_[k + 1].from - segments_[k].from) / share
                       : (samples_ - lanes_ * segments_[k].from) / segments_[k].total;
  }
  full_offset_ = offset_before(full_steps_);
  tail_samples_ = samples_ - lanes_ * full_offset_;
  if (tail_samples_ > 0 && tail_ != Tail::kDrop)
    tail_rows_ = tail_ == Tail::kPad ? segments_.back().total : tail_samples_;
}

uint64_t EpochSteps::lane_begin(uint64_t lane) const {
  return multiply_divide(lane, samples_, lanes_);
}

uint64_t EpochSteps::offset_before(uint64_t t) const {
  const auto after = std::upper_bound(steps_before_.begin(), steps_before_.end(), t);
  const auto k = static_cast<size_t>(after - steps_before_.begin()) - 1;
  return segments_[k].from + (t - steps_before_[k]) * (segments_[k].total / lanes_);
}

const BatchSegment& EpochSteps::segment_of_offset(uint64_t offset) const {
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), offset,
                       [](uint64_t o, const BatchSegment& segment) { return o < segment.from; });
  return *(after - 1);
}

Step EpochSteps::step(uint64_t t) const {
  const uint64_t first = lanes_ * offset_before(std::min(t, full_steps_));
  if (t >= full_steps_) return {tail_rows_, tail_samples_, first, segments_.back().total};
  const auto after = std::upper_bound(steps_before_.begin(), steps_before_.end(), t);
  const uint64_t total = segments_[static_cast<size_t>(after - steps_before_.begin()) - 1].total;
  return {total, total, first, total};
}

Result<uint64_t> EpochSteps::step_at(uint64_t offset) const {
  const BatchSegment& segment = segment_of_offset(offset);
  const uint64_t share = segment.total / lanes_;
  if (offset > full_offset_ || (offset - segment.from) % share != 0)
    return misfit("no step begins at lane offset " + std::to_string(offset));
  const auto k = static_cast<size_t>(&segment - segments_.data());
  return steps_before_[k] + (offset - segment.from) / share;
}

StepBucket EpochSteps::bucket(uint64_t offset, uint64_t steps) const {
  const BatchSegment& segment = segment_of_offset(offset);
  const bool last = &segment == &segments_.back();
  const uint64_t segment_end = last ? full_offset_ : (&segment)[1].from;
  const uint64_t share = segment.total / lanes_;
  const uint64_t size = steps * share;
  const uint64_t begin = segment.from + (offset - segment.from) / size * size;
  return {begin, std::min(begin + size, segment_end), share};
}

LaneRun EpochSteps::run(uint64_t position) const {
  const uint64_t full = lanes_ * full_offset_;
  if (position < full) {
    const BatchSegment& segment = segment_of_offset(position / lanes_);
    const uint64_t share = segment.total / lanes_;
    const uint64_t row = (position - lanes_ * segment.from) % segment.total;
    const uint64_t step = (position - lanes_ * segment.from) / segment.total;
    return {row / share, segment.from + step * share + row % share, share - row % share};
  }
  // The last lane with tail_before(lane) <= place: floor(lN/L) - l o <= place, that is
  // l (N - L o) < (place + 1) L.
  const uint64_t place = position - full;
  const auto bound = static_cast<unsigned __int128>(place + 1) * lanes_ - 1;
  const auto lane = static_cast<uint64_t>(bound / tail_samples_);
  return {lane, full_offset_ + place - tail_before(lane), tail_before(lane + 1) - place};
}

uint64_t EpochSteps::position(uint64_t lane, uint64_t offset) const {
  if (offset >= full_offset_)
    return lanes_ * full_offset_ + tail_before(lane) + (offset - full_offset_);
  const BatchSegment& segment = segment_of_offset(offset);
  const uint64_t share = segment.total / lanes_;
  const uint64_t step = (offset - segment.from) / share;
  return lanes_ * segment.from + step * segment.total + lane * share +
         (offset - segment.from) % share;
}

}  // namespace headrace
