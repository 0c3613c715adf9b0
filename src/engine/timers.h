// Where the time of the loader's threads goes. Adding is cheap and lock-free; rows are sampled (one
// in kSampling is timed, and counts for all), since a clock costs as much as a small row.
//
// Thread-safety: every member may be used from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace headrace {

class Timer {
 public:
  using Clock = std::chrono::steady_clock;

  void add(Clock::duration time) {
    nanoseconds_.fetch_add(
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()),
        std::memory_order_relaxed);
  }
  double seconds() const {
    return static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
  }

 private:
  std::atomic<uint64_t> nanoseconds_{0};
};

struct Timers {
  static constexpr uint32_t kSampling = 8;

  Timer plan;      ///< planning steps and looking up places
  Timer read;      ///< waiting for storage and copying out of it
  Timer decode;    ///< decoding, and filling rows
  Timer idle;      ///< threads without work, because enough batches were ready
  Timer consumer;  ///< the consumer waiting for a batch
  std::atomic<uint64_t> batches{0};
  std::atomic<uint64_t> rows{0};
  std::atomic<uint64_t> bytes_read{0};
  std::atomic<uint64_t> read_calls{0};
  std::atomic<uint64_t> rows_skipped{0};
};

}  // namespace headrace
