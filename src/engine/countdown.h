// Calls somebody when the last of several things has happened.
// Thread-safety: done() may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace headrace {

class Countdown {
 public:
  /// Starts at one, for who adds: that one is taken back by done() after the last add().
  explicit Countdown(std::function<void()> at_zero) : at_zero_(std::move(at_zero)) {}

  void add() { left_.fetch_add(1, std::memory_order_relaxed); }
  void done() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) at_zero_();
  }

 private:
  std::atomic<uint64_t> left_{1};
  const std::function<void()> at_zero_;
};

}  // namespace headrace
