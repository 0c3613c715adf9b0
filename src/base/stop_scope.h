// What this thread waits for is given up when its token says so: requests over a network end at
// once with Code::kInterrupted, instead of after all their attempts.
//
//   std::stop_source stop;                          // another thread calls stop.request_stop()
//   const StopScope scope(stop.get_token());
//   store.read("headrace.json");                    // ends early
//
// Threads that work for this one take its token along: StopScope(current_stop()). What others wait
// for too is done under StopScope({}), which nothing stops.
//
// Thread-safety: a scope belongs to the thread that made it, and scopes end in reverse order.
#pragma once

#include <stop_token>
#include <utility>

namespace headrace {

/// Of the innermost scope of this thread; a token that nothing stops where there is none.
inline std::stop_token& current_stop() {
  thread_local std::stop_token token;
  return token;
}

class StopScope {
 public:
  explicit StopScope(std::stop_token token)
      : before_(std::exchange(current_stop(), std::move(token))) {}
  ~StopScope() { current_stop() = std::move(before_); }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  std::stop_token before_;
};

}  // namespace headrace
