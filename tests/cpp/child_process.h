// Children of the test's process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

namespace headrace {

#if defined(__SANITIZE_THREAD__)
constexpr ptrdiff_t kThreadsOfItsOwn = 2;  // ThreadSanitizer has one
#else
constexpr ptrdiff_t kThreadsOfItsOwn = 1;
#endif

/// Threads that nobody joins (a store's answers) may still be on their way out. Sanitizers do not
/// support a fork then: the child has no threads, but the locks that they held. Those of a pool
/// stay and hold no locks while they wait, so what counts is that none ends any more.
inline void wait_for_threads_to_end() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kQuiet = std::chrono::milliseconds(30);
  const auto threads = [] {
    using Folder = std::filesystem::directory_iterator;
    return std::distance(Folder("/proc/self/task"), Folder());
  };
  auto quiet_since = Clock::now();
  for (auto now = threads(); now > kThreadsOfItsOwn && Clock::now() - quiet_since < kQuiet;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (const auto before = std::exchange(now, threads()); now != before)
      quiet_since = Clock::now();
  }
}

/// Runs `work` in a child process; true is exit 0.
template <typename Work>
pid_t in_child_with_threads_here(const Work& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::_exit(work() ? 0 : 1);
}

template <typename Work>
pid_t in_child(const Work& work) {
  wait_for_threads_to_end();
  return in_child_with_threads_here(work);
}

inline int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

}  // namespace headrace
