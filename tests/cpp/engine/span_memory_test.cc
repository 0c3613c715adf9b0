#include "engine/span_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

namespace headrace {
namespace {

constexpr uint64_t kPage = 4096;

TEST(SpanMemory, TheSmallestFreePieceThatFitsIsGiven) {
  SpanMemory memory(64 * kPage);
  memory.take(12 * kPage);  // from one piece, whose neighbours are known
  auto small = memory.take(2 * kPage);
  const auto between = memory.take(kPage);
  auto large = memory.take(8 * kPage);
  const auto end = memory.take(kPage);
  const std::byte* at_small = small.get();
  const std::byte* at_large = large.get();
  small.reset();
  large.reset();
  const auto first = memory.take(2 * kPage);
  const auto second = memory.take(3 * kPage);
  const auto third = memory.take(4 * kPage + 1);
  EXPECT_EQ(first.get(), at_small);
  EXPECT_EQ(second.get(), at_large);
  EXPECT_EQ(third.get(), at_large + 3 * kPage);
  EXPECT_EQ(memory.usage().mapped, 12 * kPage);
  EXPECT_EQ(memory.usage().held, memory.usage().mapped);
}

TEST(SpanMemory, FreeNeighboursJoin) {
  SpanMemory memory(64 * kPage);
  const std::byte* begin;
  {
    const auto whole = memory.take(9 * kPage);
    begin = whole.get();
  }
  std::array<std::shared_ptr<std::byte>, 3> parts;
  for (auto& part : parts) part = memory.take(3 * kPage);
  for (const size_t i : {0, 2, 1}) parts[i].reset();
  EXPECT_EQ(memory.take(9 * kPage).get(), begin);
  EXPECT_EQ(memory.usage().mapped, 9 * kPage);
}

TEST(SpanMemory, MoreThanTheLimitIsGivenAndGoesBack) {
  SpanMemory memory(16 * kPage);
  {
    const auto much = memory.take(40 * kPage);
    std::memset(much.get(), 1, 40 * kPage);
    EXPECT_FALSE(memory.has_room());
    EXPECT_EQ(memory.usage().mapped, 40 * kPage);
  }
  EXPECT_EQ(memory.usage().mapped, 16 * kPage);
  EXPECT_TRUE(memory.has_room());
  const auto again = memory.take(16 * kPage);
  std::memset(again.get(), 2, 16 * kPage);
  EXPECT_EQ(memory.usage().mapped, 16 * kPage);
}

TEST(SpanMemory, OutlivesItsOwner) {
  std::shared_ptr<std::byte> left;
  {
    SpanMemory memory(kPage);
    left = memory.take(10);
  }
  *left = std::byte{1};
}

// What several threads hold never overlaps, and what is mapped stays near what is held.
TEST(SpanMemory, PiecesOfAllSizesFromManyThreadsNeverOverlap) {
  constexpr uint64_t kLimit = 4096 * kPage;
  SpanMemory memory(kLimit);
  const auto work = [&memory](int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::deque<std::pair<std::shared_ptr<std::byte>, uint64_t>> held;
    const auto mark = static_cast<int>(seed);
    for (int i = 0; i < 3000; ++i) {
      const uint64_t size = 1 + random() % (40 * kPage);
      held.emplace_back(memory.take(size), size);
      std::memset(held.back().first.get(), mark, size);
      if (held.size() < 30) continue;
      std::swap(held.front(), held[random() % held.size()]);
      const auto& [at, bytes] = held.front();
      for (uint64_t b = 0; b < bytes; b += 511) ASSERT_EQ(at.get()[b], std::byte(mark));
      held.pop_front();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.usage().held, 0U);
  EXPECT_LE(memory.usage().mapped, kLimit);
}

TEST(SpanMemory, AForkedChildMayDropWhatItHas) {
  SpanMemory memory(4 * kPage);
  auto piece = memory.take(kPage);
  const pid_t child = fork();
  if (child == 0) {
    piece.reset();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(memory.usage().held, kPage);
}

}  // namespace
}  // namespace headrace
