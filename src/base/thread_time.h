// The processor time of the calling thread: what else runs on the machine does not count.
#pragma once

#include <time.h>

#include <chrono>

namespace headrace {

inline std::chrono::nanoseconds thread_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace headrace
