#include "io/http/host_pace.h"

#include <algorithm>
#include <utility>

#include "base/thread_time.h"

namespace headrace {
namespace {

constexpr unsigned kLarge = 8;                // the weight of a large request
constexpr unsigned kFirstDepth = 8 * kLarge;  // 64 of them, if they are small
constexpr uint64_t kWeightBytes = uint64_t{128} << 10;
constexpr std::chrono::nanoseconds kShortest = std::chrono::milliseconds(100);  // of intervals
constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(400);
constexpr int kAnswers = 4;     // an interval is as long as so many answers take
constexpr double kBusy = 0.75;  // of the thread's time
constexpr uint64_t kRequestWork = uint64_t{16} << 10;  // bytes that cost as much as a request
constexpr uint64_t kFreeRetries = 512;  // a server that restarts fails all reads under way
constexpr uint64_t kHedgeSamples = 64;  // and as often the percentile is found anew
constexpr auto kShortestHedge = std::chrono::milliseconds(50);

}  // namespace

HostPace::HostPace(const FetcherOptions& options)
    : most_(std::max(options.max_in_flight, 1U)),
      climb_(kFirstDepth, kLarge * most_),
      length_(std::chrono::milliseconds(200)) {
  tell_depth();
}

unsigned HostPace::weight_of(uint64_t bytes) {
  return static_cast<unsigned>(std::clamp<uint64_t>(bytes / kWeightBytes, 1, kLarge));
}

/// What is slow at one depth is usual at a greater one.
void HostPace::tell_depth() {
  const unsigned depth = std::max(1U, climb_.depth() / kLarge);
  if (depth == std::exchange(counters.depth, depth)) return;
  answers_here_ = 0;
  slow_first_byte_.reset();
}

unsigned HostPace::wanted(size_t waiting) const {
  const unsigned weight = in_flight_ > 0 ? load_ / in_flight_ : 1;
  const size_t deepest = std::max(std::min(2 * climb_.depth() / weight, most_), in_flight_);
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
  begin_processor_ = thread_time();
  work_ = 0;
  was_full_ = false;
}

void HostPace::ended(unsigned weight, bool waiting, Clock::time_point now) {
  was_full_ |= waiting && is_full();
  load_ -= weight;
  --in_flight_;
  is_idle_ = in_flight_ == 0 && !waiting;
  work_ += kRequestWork;
  if (now - begin_ < length_) return;
  if (was_full_) end_interval(now);
  begin_interval(now);
}

/// Precondition: requests waited during all of the interval, so its rate is that of this depth.
void HostPace::end_interval(Clock::time_point now) {
  const std::chrono::duration<double> took = now - begin_;
  const std::chrono::duration<double> worked = thread_time() - begin_processor_;
  climb_.measured(static_cast<double>(work_) / took.count(), worked > kBusy * took, now);
  tell_depth();
}

void HostPace::answered(std::chrono::nanoseconds first_byte) {
  ++answers_;
  first_bytes_[answers_here_++ % first_bytes_.size()] = first_byte;
  counters.first_byte_seconds += std::chrono::duration<double>(first_byte).count();
  length_ += (std::clamp(kAnswers * first_byte, kShortest, kLongest) - length_) / 8;
  if (answers_here_ % kHedgeSamples == 0) find_slow_first_byte();
}

void HostPace::throttled(std::chrono::milliseconds delay, Clock::time_point now) {
  ++counters.throttled;
  climb_.halve(now);
  tell_depth();
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
  const size_t known = std::min<uint64_t>(answers_here_, first_bytes_.size());
  auto sorted = first_bytes_;
  const size_t at = known * 99 / 100;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(at),
                   sorted.begin() + static_cast<long>(known));
  slow_first_byte_ = std::max<std::chrono::nanoseconds>(sorted[at], kShortestHedge);
}

}  // namespace headrace
