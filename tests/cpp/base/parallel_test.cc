#include "base/parallel.h"

#include <gtest/gtest.h>

#include <set>

namespace headrace {
namespace {

TEST(Parallel, EachNumberComesOnceOnWhicheverThread) {
  for (const uint64_t threads : {1, 3, 100}) {
    std::vector<std::atomic<int>> times(50);
    EXPECT_TRUE(for_each(times.size(), threads, [&](uint64_t i) {
                  ++times[i];
                  return Status();
                }).ok());
    for (const auto& each : times) EXPECT_EQ(each, 1);
  }
  EXPECT_TRUE(for_each(0, 8, [](uint64_t) { return Status(Error{.message = "none"}); }).ok());
}

TEST(Parallel, TheErrorOfTheLowestNumberIsTheAnswerAndNoMoreAreBegun) {
  std::atomic<uint64_t> begun{0};
  const Status status = for_each(100'000, 4, [&](uint64_t i) -> Status {
    ++begun;
    if (i < 7) return {};
    return Error{.message = std::to_string(i)};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "7");
  EXPECT_LE(begun, 7U + 2 * 4);  // each thread may have had one more
}

TEST(Parallel, AllThreadsWorkAtOnceAndHearWhatStopsThisOne) {
  constexpr unsigned kThreads = 4;
  std::stop_source stop;
  const StopScope scope(stop.get_token());
  std::atomic<unsigned> there{0};
  std::mutex mutex;
  std::set<std::thread::id> ids;
  run_on_threads(kThreads, [&] {
    {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    if (++there == kThreads) stop.request_stop();
    while (!current_stop().stop_requested()) std::this_thread::yield();
  });
  EXPECT_EQ(ids.size(), kThreads);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

}  // namespace
}  // namespace headrace
