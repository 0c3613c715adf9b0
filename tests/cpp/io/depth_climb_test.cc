#include "io/http/depth_climb.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using Clock = DepthClimb::Clock;

struct Time {
  Clock::time_point now{std::chrono::hours(1)};
  Clock::time_point next() { return now += std::chrono::milliseconds(200); }
};

TEST(DepthClimb, DoublesWhileTheRateGrowsWithIt) {
  DepthClimb climb(64, 2048);
  Time time;
  for (int i = 0; i < 8; ++i) climb.measured(climb.depth() * 1e6, false, time.next());
  EXPECT_EQ(climb.depth(), 2048U);
}

TEST(DepthClimb, ATenthMoreIsNotWorthTwiceTheDepth) {
  DepthClimb climb(64, 2048);
  Time time;
  climb.measured(1e9, false, time.next());
  EXPECT_EQ(climb.depth(), 128U);
  climb.measured(1.1e9, false, time.next());
  EXPECT_EQ(climb.depth(), 128U);  // it may have been chance
  climb.measured(1.1e9, false, time.next());
  EXPECT_EQ(climb.depth(), 64U);
}

// Who receives as fast as it can would only wait longer for what comes first.
TEST(DepthClimb, ABusyReceiverDoesNotAskForMore) {
  DepthClimb climb(64, 2048);
  Time time;
  for (int i = 1; i < 50; ++i) {
    climb.measured(i * 1e8, true, time.next());
    ASSERT_EQ(climb.depth(), 64U);
  }
  climb.measured(1e9, false, time.next());
  EXPECT_EQ(climb.depth(), 128U);
}

TEST(DepthClimb, GoesDownWhereLessDoesAsWell) {
  DepthClimb climb(64, 2048);
  Time time;
  for (int i = 0; i < 4; ++i) climb.measured(climb.depth() * 1e6, false, time.next());
  EXPECT_EQ(climb.depth(), 1024U);
  for (int i = 0; i < 400; ++i) climb.measured(50e6, false, time.next());
  EXPECT_LE(climb.depth(), 96U);
  EXPECT_GE(climb.depth(), 64U);
}

TEST(DepthClimb, AHostThatWantsLessGetsHalfAndLaterMoreAgain) {
  DepthClimb climb(64, 2048);
  Time time;
  for (int i = 0; i < 9; ++i) climb.halve(time.now);
  EXPECT_EQ(climb.depth(), 1U);
  climb.measured(1e6, false, time.next());
  EXPECT_EQ(climb.depth(), 1U);  // not at once
  for (int i = 0; i < 400; ++i) climb.measured(climb.depth() * 1e6, false, time.next());
  EXPECT_GE(climb.depth(), 64U);
}

}  // namespace
}  // namespace headrace
