#include "io/http/host_pace.h"

#include <algorithm>
#include <utility>

namespace headrace {
namespace {

constexpr unsigned kLarge = 8;                // the weight of a large request
constexpr unsigned kFirstDepth = 8 * kLarge;  // 64 of them, if they are small
constexpr uint64_t kWeightBytes = uint64_t{128} << 10;
constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr auto kHold = std::chrono::seconds(5);
constexpr double kWorthIt = 1.05;                      // a deeper queue must bring a twentieth more
constexpr uint64_t kRequestWork = uint64_t{16} << 10;  // bytes that cost as much as a request
constexpr uint64_t kFreeRetries = 512;  // a server that restarts fails all reads under way
constexpr uint64_t kHedgeSamples = 64;  // and as often the percentile is found anew
constexpr auto kShortestHedge = std::chrono::milliseconds(50);

}  // namespace

HostPace::HostPace(const FetcherOptions& options)
    : most_(std::max(options.max_in_flight, 1U)) {
  set_depth(kFirstDepth);
  best_depth_ = depth_;
}

unsigned HostPace::weight_of(uint64_t bytes) {
  return static_cast<unsigned>(std::clamp<uint64_t>(bytes / kWeightBytes, 1, kLarge));
}

void HostPace::set_depth(unsigned depth) {
  depth_ = std::clamp(depth, 1U, kLarge * most_);
  counters.depth = std::max(1U, depth_ / kLarge);
}

unsigned HostPace::wanted(size_t waiting) const {
  const unsigned weight = in_flight_ > 0 ? load_ / in_flight_ : 1;
  const size_t deepest = std::max(std::min(2 * depth_ / weight, most_), in_flight_);
  return static_cast<unsigned>(std::min(in_flight_ + waiting, deepest));
}

void HostPace::sent(unsigned weight, Clock::time_point now) {
  if (std::exchange(is_idle_, false)) begin_interval(now);
  load_ += weight;
  ++in_flight_;
  ++counters.requests;
}

void HostPace::begin_interval(Clock::time_point now) {
  begin_ = now;
  work_ = 0;
  was_full_ = false;
}

void HostPace::ended(unsigned weight, bool waiting, Clock::time_point now) {
  was_full_ |= waiting && is_full();
  load_ -= weight;
  --in_flight_;
  is_idle_ = in_flight_ == 0 && !waiting;
  work_ += kRequestWork;
  if (now - begin_ < kInterval) return;
  const double rate =
      static_cast<double>(work_) / std::chrono::duration<double>(now - begin_).count();
  if (was_full_) climb(rate, now);
  begin_interval(now);
}

/// Precondition: requests waited during all of the interval, so its rate is that of this depth.
void HostPace::climb(double rate, Clock::time_point now) {
  if (now < hold_until_) return;
  const bool helped = rate > best_rate_ * kWorthIt;
  const bool is_trial = depth_ != best_depth_;
  if (is_trial && !helped && !std::exchange(doubted_, true)) return;  // once more
  doubted_ = false;
  if (helped || !is_trial) {
    best_rate_ = rate;
    best_depth_ = depth_;
    const bool first_climb = hold_until_ == Clock::time_point();
    set_depth(depth_ + (first_climb ? depth_ : std::max(1U, depth_ / 2)));
    if (depth_ == best_depth_) hold_until_ = now + kHold;
    return;
  }
  set_depth(best_depth_);
  hold_until_ = now + kHold;
}

void HostPace::answered(std::chrono::nanoseconds first_byte) {
  first_bytes_[answers_++ % first_bytes_.size()] = first_byte;
  counters.first_byte_seconds += std::chrono::duration<double>(first_byte).count();
  if (answers_ % kHedgeSamples == 0) find_slow_first_byte();
}

void HostPace::throttled(std::chrono::milliseconds delay, Clock::time_point now) {
  ++counters.throttled;
  set_depth(depth_ / 2);
  best_depth_ = depth_;
  best_rate_ = 0;
  hold_until_ = now + kHold;
  not_before_ = std::max(not_before_, now + delay);
}

bool HostPace::take_retry() {
  if (retries_taken_ >= kFreeRetries + successes_ / 2) return false;
  ++retries_taken_;
  ++counters.retries;
  return true;
}

bool HostPace::take_hedge() {
  if (counters.hedges >= 1 + counters.requests / 20) return false;
  ++counters.hedges;
  return true;
}

void HostPace::find_slow_first_byte() {
  const size_t known = std::min<uint64_t>(answers_, first_bytes_.size());
  auto sorted = first_bytes_;
  const size_t at = known * 99 / 100;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(at),
                   sorted.begin() + static_cast<long>(known));
  slow_first_byte_ = std::max<std::chrono::nanoseconds>(sorted[at], kShortestHedge);
}

}  // namespace headrace
