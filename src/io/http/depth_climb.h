// Finds how deep a queue of requests fills a link, and no deeper: what comes first comes later the
// more is asked for beside it, and a server has only so much to give.
//
// One depth is held while its rate is measured; then another one is tried beside it. The deeper of
// the two is better if it brings a quarter of what a link without limit would:
//
//   rate |            x  x        64 brought a tenth more than 32, and could have doubled it:
//        |        x               back to 32
//        |    x
//        |  x
//        +--8-16--32-64---- depth
//
// First it doubles until that does not help. After a while half as much more and a third less are
// tried in turn, for links change, and the first rates of a process may be bad for other reasons.
//
// Pure but for what it is told. Belongs to one thread.
#pragma once

#include <chrono>

namespace headrace {

class DepthClimb {
 public:
  using Clock = std::chrono::steady_clock;

  /// Depths are of any unit. None below `first` is tried, but after halve().
  DepthClimb(unsigned first, unsigned most);

  unsigned depth() const { return depth_; }
  /// `rate` was measured at this depth, with more that waited all the time. `busy`: who receives
  /// has no time left, so that nothing is gained by asking for more.
  void measured(double rate, bool busy, Clock::time_point now);
  /// The server wants less.
  void halve(Clock::time_point now);

 private:
  void begin_trial(bool busy, Clock::time_point now);
  void rest(Clock::time_point now);

  const unsigned first_;
  const unsigned most_;
  unsigned depth_;
  unsigned best_depth_;  // another one than depth_: that is on trial
  double best_rate_ = 0;
  bool ascends_ = true;   // the next trial is of a deeper one
  bool settled_ = false;  // doubling has ended
  bool doubted_ = false;  // the deeper one was not better in one interval, which may be chance
  Clock::time_point rest_until_{};
};

}  // namespace headrace
