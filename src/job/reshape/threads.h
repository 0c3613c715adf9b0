// The same small task for many numbers, on several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "headrace/result.h"
#include "job/first_error.h"

namespace headrace {

/// Runs task(i), a Status, for i in [0, count) on up to `threads` threads. The error of the lowest
/// i that failed; after one, no more are begun.
template <typename Task>
Status for_each(uint64_t count, unsigned threads, const Task& task) {
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  FirstError failed;
  const auto work = [&] {
    for (uint64_t i = next++; i < count; i = next++) {
      Status status = task(i);
      if (status.ok()) continue;
      next = count;
      const std::lock_guard lock(mutex);
      failed.set(i, 0, std::move(status).error());
    }
  };
  {
    std::vector<std::jthread> others;
    const uint64_t wanted = std::min<uint64_t>(threads, count);
    for (uint64_t i = 1; i < wanted; ++i) others.emplace_back(work);
    work();
  }
  return failed.take();
}

/// `threads`, or as many as there are processors for 0.
inline unsigned real_threads(unsigned threads) {
  return threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace headrace
