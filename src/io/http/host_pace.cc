#include "io/http/host_pace.h"

#include <algorithm>
#include <utility>

namespace headrace {
namespace {

constexpr unsigned kFirstDepth = 8;
constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr auto kHold = std::chrono::seconds(5);
constexpr double kWorthIt = 1.05;                      // a deeper queue must bring a twentieth more
constexpr uint64_t kRequestWork = uint64_t{16} << 10;  // bytes that cost as much as a request
constexpr uint64_t kFreeRetries = 512;  // a server that restarts fails all reads under way
constexpr uint64_t kHedgeSamples = 64;  // and as often the percentile is found anew
constexpr auto kShortestHedge = std::chrono::milliseconds(50);

}  // namespace

HostPace::HostPace(const FetcherOptions& options)
    : most_(std::max(options.max_in_flight, 1U)), best_depth_(std::min(kFirstDepth, most_)) {
  counters.depth = best_depth_;
}

bool HostPace::may_send(Clock::time_point now) const {
  return in_flight_ < counters.depth && now >= not_before_;
}

unsigned HostPace::wanted(size_t waiting) const {
  const size_t deepest = std::max(std::min(2 * counters.depth, most_), in_flight_);
  return static_cast<unsigned>(std::min(in_flight_ + waiting, deepest));
}

void HostPace::sent(Clock::time_point now) {
  if (std::exchange(is_idle_, false)) begin_interval(now);
  ++in_flight_;
  ++counters.requests;
}

void HostPace::begin_interval(Clock::time_point now) {
  begin_ = now;
  work_ = 0;
  was_full_ = false;
}

void HostPace::ended(bool waiting, Clock::time_point now) {
  was_full_ |= waiting && in_flight_ >= counters.depth;
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
  const bool is_trial = counters.depth != best_depth_;
  if (is_trial && !helped && !std::exchange(doubted_, true)) return;  // once more
  doubted_ = false;
  if (helped || !is_trial) {
    best_rate_ = rate;
    best_depth_ = counters.depth;
    const bool first_climb = hold_until_ == Clock::time_point();
    const unsigned more = first_climb ? counters.depth : std::max(1U, counters.depth / 2);
    counters.depth = std::min(most_, counters.depth + more);
    if (counters.depth == best_depth_) hold_until_ = now + kHold;
    return;
  }
  counters.depth = best_depth_;
  hold_until_ = now + kHold;
}

void HostPace::answered(std::chrono::nanoseconds first_byte) {
  first_bytes_[answers_++ % first_bytes_.size()] = first_byte;
  counters.first_byte_seconds += std::chrono::duration<double>(first_byte).count();
  if (answers_ % kHedgeSamples == 0) find_slow_first_byte();
}

void HostPace::throttled(std::chrono::milliseconds delay, Clock::time_point now) {
  ++counters.throttled;
  counters.depth = std::max(1U, counters.depth / 2);
  best_depth_ = counters.depth;
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
