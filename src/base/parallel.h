// Work for several threads at once. What stops the waiting of the thread that gives it (StopScope)
// stops theirs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/first_error.h"
#include "base/stop_scope.h"
#include "headrace/result.h"

namespace headrace {

/// `asked`, or as many as there are processors for 0.
inline unsigned thread_count(unsigned asked) {
  return asked > 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

/// Runs `work()` on `threads` threads, this one among them in any case, and waits for all.
template <typename Work>
void run_on_threads(uint64_t threads, const Work& work) {
  const auto help = [&work, stop = current_stop()] {
    const StopScope scope(stop);
    work();
  };
  std::vector<std::jthread> others;
  for (uint64_t i = 1; i < threads; ++i) others.emplace_back(help);
  work();
}

/// Runs task(i), a Status, for i in [0, count) on up to `threads` threads. The error of the lowest
/// i that failed; after one, no more are begun.
template <typename Task>
Status for_each(uint64_t count, uint64_t threads, const Task& task) {
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  FirstError failed;
  run_on_threads(std::min(threads, count), [&] {
    for (uint64_t i = next++; i < count; i = next++) {
      Status status = task(i);
      if (status.ok()) continue;
      next = count;
      const std::lock_guard lock(mutex);
      failed.set(i, 0, std::move(status).error());
    }
  });
  return failed.take();
}

}  // namespace headrace
