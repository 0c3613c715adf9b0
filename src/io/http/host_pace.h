// How many requests one host gets at once, and whether it may be asked again after a failure.
//
// Large requests fill a link sooner than small ones, of which eight times as many may be under way:
// the first rows of a run are many small ones, and wait for one answer and not for thirty.
//
// The depth that fills the link is found by climbing (DepthClimb), from rates of intervals in which
// requests waited. A host that says "slow down" (429, 503) halves it and gets no request before the
// time it names.
//
// Belongs to the fetcher's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "io/http/depth_climb.h"
#include "io/http/fetcher.h"

namespace headrace {

class HostPace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HostPace(const FetcherOptions& options);

  /// What a request of so many bytes, sent or asked for, counts for: 1 to 8, that from 1 MiB on.
  static unsigned weight_of(uint64_t bytes);

  bool may_send(Clock::time_point now) const { return !is_full() && now >= not_before_; }
  /// When a request that may not be sent now may be; the past if only the depth is in the way.
  Clock::time_point not_before() const { return not_before_; }

  unsigned in_flight() const { return in_flight_; }
  /// Those under way and those of `waiting` that would be: with room for the climb's next step.
  unsigned wanted(size_t waiting) const;

  /// The first one after a pause begins an interval.
  void sent(unsigned weight, Clock::time_point now);
  /// A call got what it asked for.
  void succeeded() { ++successes_; }
  /// Bytes of a body came: rates are of what comes, not of requests that happen to end together.
  void received(uint64_t bytes) {
    counters.bytes_asked += bytes;
    work_ += bytes;
  }
  /// An attempt ended. `waiting`: other requests of this host wait for their turn.
  void ended(unsigned weight, bool waiting, Clock::time_point now);
  void answered(std::chrono::nanoseconds first_byte);
  void throttled(std::chrono::milliseconds delay, Clock::time_point now);

  /// Takes one repeat out of the host's budget: a share of what succeeded, so that a host that is
  /// down is not asked eight times as often. False: none is left.
  bool take_retry();
  /// The same for a second request beside one that is slow: at most one in twenty.
  bool take_hedge();
  /// A first byte that takes longer than this is past the 99th percentile. Nothing until there is
  /// something to compare with.
  std::optional<std::chrono::nanoseconds> slow_first_byte() const { return slow_first_byte_; }
  bool has_answered() const { return answers_ > 0; }

  HostCounters counters;

 private:
  bool is_full() const { return in_flight_ >= most_ || load_ >= climb_.depth(); }
  void begin_interval(Clock::time_point now);
  void end_interval(Clock::time_point now);
  void tell_depth();
  void find_slow_first_byte();

  const unsigned most_;
  unsigned in_flight_ = 0;
  unsigned load_ = 0;  // the weights of those
  DepthClimb climb_;   // to the load at which no more is sent
  Clock::time_point not_before_{};
  uint64_t answers_ = 0;
  uint64_t answers_here_ = 0;  // at this depth
  uint64_t successes_ = 0;
  uint64_t retries_taken_ = 0;
  std::array<std::chrono::nanoseconds, 256> first_bytes_{};
  std::optional<std::chrono::nanoseconds> slow_first_byte_;

  // of the interval in which a rate is measured
  bool is_idle_ = true;  // nothing is under way and nothing waits
  Clock::time_point begin_{};
  std::chrono::nanoseconds begin_processor_{};  // time that this thread had of a processor
  std::chrono::nanoseconds length_;
  uint64_t work_ = 0;
  bool was_full_ = false;
};

}  // namespace headrace
