#include "io/bucket/renewed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace headrace {
namespace {

using namespace std::chrono_literals;

struct Secret {
  int number = 0;
  std::optional<WallTime> expires = {};
};

WallTime in(std::chrono::milliseconds time) { return std::chrono::system_clock::now() + time; }

TEST(Renewed, IsFetchedOnceForAllWhoWait) {
  std::atomic<int> fetches = 0;
  Renewed<Secret> secret([&]() -> Result<Secret> {
    std::this_thread::sleep_for(20ms);
    return Secret{++fetches};
  });
  EXPECT_EQ(secret.latest(), nullptr);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] { EXPECT_EQ((*secret.get())->number, 1); });
  }
  EXPECT_EQ(fetches, 1);
}

TEST(Renewed, IsRenewedInTheBackgroundWhileTheOldOneIsUsed) {
  std::atomic<int> fetches = 0;
  Renewed<Secret> secret([&]() -> Result<Secret> {
    const int number = ++fetches;
    if (number > 1) std::this_thread::sleep_for(50ms);
    return Secret{number, in(number == 1 ? 400ms : 1h)};
  });
  ASSERT_TRUE(secret.get().ok());
  std::this_thread::sleep_for(250ms);  // past the half of its life
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(secret.latest()->number, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 40ms);
  for (int i = 0; i < 200 && secret.latest()->number == 1; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(secret.latest()->number, 2);
  EXPECT_EQ(fetches, 2);
}

TEST(Renewed, WhatIsOverIsNeverGivenToThoseWhoWait) {
  int fetches = 0;
  Renewed<Secret> secret([&]() -> Result<Secret> {
    if (++fetches == 2) return Error{.code = Code::kDenied, .message = "gone", .origin = {}};
    return Secret{fetches, in(fetches == 1 ? -1s : 1h)};
  });
  EXPECT_EQ((*secret.get())->number, 1);
  EXPECT_FALSE(secret.get().ok());
  EXPECT_EQ((*secret.get())->number, 3);
}

}  // namespace
}  // namespace headrace
