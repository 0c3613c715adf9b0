// The climb to the depth that fills a link, on a simulated one: time is ours, so nothing is chance.
#include "io/http/host_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace headrace {
namespace {

using Clock = HostPace::Clock;
using std::chrono::milliseconds;

// Each connection gives so much, all together so much; every answer comes late. Requests of one
// size that begin together end together.
struct Link {
  double connection = 50e6;  // bytes a second
  double whole = 3e9;
  milliseconds delay{30};
  double request = 4 << 20;

  struct Request {
    Clock::time_point flows;
    double left;
  };
  std::vector<Request> requests = {};
  Clock::time_point now{std::chrono::hours(1)};

  unsigned weight() const { return HostPace::weight_of(static_cast<uint64_t>(request)); }

  // As long as there is always another request that waits.
  void run(HostPace& pace, milliseconds how_long) {
    for (const auto end = now + how_long; now < end; now += milliseconds(1)) {
      while (pace.may_send(now)) {
        pace.sent(weight(), now);
        requests.push_back({now + delay, request});
      }
      const auto flowing =
          std::ranges::count_if(requests, [this](const Request& r) { return r.flows <= now; });
      const double share =
          std::min(connection, whole / static_cast<double>(std::max(flowing, 1L))) / 1000;
      for (Request& each : requests) {
        if (each.flows > now) continue;
        pace.received(static_cast<uint64_t>(std::min(share, each.left)));
        each.left -= share;
      }
      const auto ended = std::erase_if(requests, [](const Request& r) { return r.left <= 0; });
      for (size_t i = 0; i < ended; ++i) pace.ended(weight(), true, now);
    }
  }

  void finish(HostPace& pace) {
    for (size_t i = 0; i < requests.size(); ++i) pace.ended(weight(), false, now);
    requests.clear();
  }
};

// 30 connections fill it. The last two doublings may seem to help, as the first interval of each
// has a beginning without answers.
TEST(HostPace, ClimbsToWhatFillsTheLinkWithinSeconds) {
  HostPace pace({});
  Link link{.whole = 1500e6};
  link.run(pace, milliseconds(3000));
  EXPECT_GE(pace.counters.depth, 30U);
  EXPECT_LE(pace.counters.depth, 128U);
}

// Whatever the size of the requests, so however many end within an interval.
TEST(HostPace, ClimbsWithRequestsThatEndTogether) {
  for (const double size : {100e3, 1e6, 8e6, 16e6, 30e6}) {
    HostPace pace({});
    Link link{.request = size};
    link.run(pace, milliseconds(8000));
    // Of small ones most of the time is the delay, so that the link is never filled.
    EXPECT_GE(pace.in_flight(), 60U) << size;
  }
}

TEST(HostPace, OneSlowIntervalDoesNotEndTheClimb) {
  HostPace pace({});
  Link link;
  link.run(pace, milliseconds(250));
  link.connection = 10e6;  // for a moment
  link.run(pace, milliseconds(250));
  link.connection = 50e6;
  link.run(pace, milliseconds(4000));
  EXPECT_GE(pace.counters.depth, 60U);
}

TEST(HostPace, StaysWhereTheLinkIsFull) {
  HostPace pace({});
  Link link{.whole = 400e6};  // eight connections
  link.run(pace, milliseconds(4000));
  EXPECT_LE(pace.counters.depth, 32U);
}

// As in a process whose memory is new, where every interval is faster than the one before.
TEST(HostPace, ComesDownFromADepthThatOnlySeemedToHelp) {
  HostPace pace({});
  Link link{.connection = 400e6, .whole = 100e6, .delay = milliseconds(1)};
  for (; link.whole < 1600e6; link.whole *= 1.7) link.run(pace, milliseconds(200));
  EXPECT_GE(pace.counters.depth, 32U);
  link.run(pace, milliseconds(40'000));
  EXPECT_LE(pace.counters.depth, 12U);  // four fill it
}

// Where each request ends before the next one is sent, as after a server that said "slow down".
TEST(HostPace, ClimbsFromOneRequestAtATime) {
  HostPace pace({.max_in_flight = 64});
  Link link;
  link.run(pace, milliseconds(50));
  for (int i = 0; i < 3; ++i) pace.throttled(milliseconds(0), link.now);
  ASSERT_EQ(pace.counters.depth, 1U);
  link.run(pace, milliseconds(40'000));
  EXPECT_GE(pace.counters.depth, 16U);
}

// The first rows of a run shall wait for one answer, the first blocks not share the link with many.
TEST(HostPace, EightTimesAsManySmallRequestsMayBeUnderWay) {
  const auto at_once = [](uint64_t bytes, const FetcherOptions& options = {}) {
    HostPace pace(options);
    const Clock::time_point now{std::chrono::hours(1)};
    for (; pace.may_send(now); pace.sent(HostPace::weight_of(bytes), now))
      ;
    return pace.in_flight();
  };
  EXPECT_EQ(at_once(100'000), 64U);
  EXPECT_EQ(at_once(512 << 10), 16U);
  EXPECT_EQ(at_once(8 << 20), 8U);
  EXPECT_EQ(at_once(100'000, {.max_in_flight = 5}), 5U);
  EXPECT_EQ(at_once(8 << 20, {.max_in_flight = 5}), 5U);
}

// What came before a pause, and the pause, are no part of the next rate.
TEST(HostPace, APauseIsNoRate) {
  HostPace pace({});
  Link link{.whole = 400e6};
  link.run(pace, milliseconds(3000));
  link.finish(pace);
  const unsigned before = pace.counters.depth;
  for (int i = 0; i < 4; ++i) {
    link.now += std::chrono::seconds(20);
    link.run(pace, milliseconds(1500));
    link.finish(pace);
  }
  EXPECT_LE(pace.counters.depth, 2 * before);
}

}  // namespace
}  // namespace headrace
