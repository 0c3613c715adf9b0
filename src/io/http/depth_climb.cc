#include "io/http/depth_climb.h"

#include <algorithm>
#include <utility>

namespace headrace {
namespace {

constexpr auto kRest = std::chrono::seconds(3);
constexpr auto kRestAfterHalving = std::chrono::seconds(5);
constexpr double kWorth = 0.25;

}  // namespace

DepthClimb::DepthClimb(unsigned first, unsigned most)
    : first_(first), most_(most), depth_(std::min(first, most)), best_depth_(depth_) {}

void DepthClimb::measured(double rate, bool busy, Clock::time_point now) {
  if (now < rest_until_) return;
  if (depth_ == best_depth_) {
    best_rate_ = rate;
    return begin_trial(busy, now);
  }
  const double part = static_cast<double>(depth_) / best_depth_;
  const bool is_deeper = depth_ > best_depth_;
  const bool brings_enough = rate >= best_rate_ * (1 + (part - 1) * kWorth);
  if (brings_enough != is_deeper && !std::exchange(doubted_, true)) return;  // once more
  doubted_ = false;
  if (!brings_enough) {
    depth_ = best_depth_;
    return rest(now);
  }
  best_depth_ = depth_;
  best_rate_ = rate;
  begin_trial(busy, now);
}

void DepthClimb::begin_trial(bool busy, Clock::time_point now) {
  if (!ascends_)
    depth_ = std::max(depth_ * 2 / 3, std::min(depth_, first_));
  else if (!busy)
    depth_ = std::min(settled_ ? depth_ + std::max(1U, depth_ / 2) : 2 * depth_, most_);
  else if (!settled_)
    return;  // as in a process whose memory is still new; the next interval may tell more
  if (depth_ == best_depth_) rest(now);
}

void DepthClimb::rest(Clock::time_point now) {
  settled_ = true;
  ascends_ = !ascends_;
  rest_until_ = now + kRest;
}

void DepthClimb::halve(Clock::time_point now) {
  depth_ = std::max(depth_ / 2, 1U);
  best_depth_ = depth_;
  settled_ = true;
  ascends_ = true;
  doubted_ = false;
  rest_until_ = now + kRestAfterHalving;
}

}  // namespace headrace
