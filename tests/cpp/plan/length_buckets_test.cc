#include "plan/length_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "plan/plan_testing.h"

namespace headrace {
namespace {

TEST(LengthBuckets, DealsEverySampleOnceAndPartsAreRangesOfLength) {
  Dice dice(5);
  std::vector<uint64_t> lengths(60);
  for (uint64_t& length : lengths) length = dice.below(20);
  const std::vector<uint32_t> dealt = deal_by_length(lengths, 6, 99);
  std::vector<uint32_t> sorted = dealt;
  std::ranges::sort(sorted);
  for (uint32_t i = 0; i < 60; ++i) EXPECT_EQ(sorted[i], i);

  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (size_t step = 0; step < 10; ++step) {
    const auto [least, most] = std::ranges::minmax(std::span(dealt).subspan(step * 6, 6), {},
                                                   [&](uint32_t i) { return lengths[i]; });
    ranges.emplace_back(lengths[least], lengths[most]);
  }
  EXPECT_FALSE(std::ranges::is_sorted(ranges));  // the steps are shuffled
  std::ranges::sort(ranges);
  for (size_t step = 1; step < 10; ++step) EXPECT_LE(ranges[step - 1].second, ranges[step].first);
}

TEST(LengthBuckets, EqualLengthsKeepTheLanesOrder) {
  const std::vector<uint64_t> lengths(8, 5);
  std::vector<uint32_t> dealt = deal_by_length(lengths, 8, 1);
  EXPECT_TRUE(std::ranges::is_sorted(dealt));
}

TEST(LengthBuckets, NothingIsDealtToNothing) { EXPECT_TRUE(deal_by_length({}, 4, 1).empty()); }

/// Rows of an epoch whose samples have lengths from their numbers, as ranks see them.
TEST(LengthBuckets, AnEpochHasEverySampleOnceWhateverTheCuts) {
  for (const uint64_t window : {1, 3, 7, 1000}) {
    OrderOptions options = order_options(24, 4, 40);
    options.bucket_steps = window;
    options.bucket_by = "txt";
    const auto table = uneven_table(1003, 9, 8, 2);
    const auto schedule = Schedule::create({table}, {.order = options, .weights = {}});
    ASSERT_TRUE(schedule.ok());
    std::vector<std::vector<Row>> worlds;
    for (const uint64_t world : {1, 5}) {
      auto plan = EpochPlan::create(*schedule, 3);
      ASSERT_TRUE(plan.ok());
      plan->set_lengths([](std::span<const Row> rows, std::span<uint64_t> lengths) {
        for (size_t i = 0; i < rows.size(); ++i) lengths[i] = rows[i].sample * 7 % 13;
      });
      std::vector<Row> rows;
      for (uint64_t t = 0; t < plan->steps().steps(); ++t)
        for (uint64_t rank = 0; rank < world; ++rank)
          plan->rows(t, rank_rows(plan->steps().step(t).rows, rank, world), rows);
      worlds.push_back(rows);
    }
    EXPECT_EQ(worlds[0], worlds[1]);
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const Row& row : worlds[0]) {
      EXPECT_TRUE(row.padded || seen.emplace(row.shard, row.sample).second);
    }
    EXPECT_EQ(seen.size(), 1003U);
  }
}

TEST(LengthBuckets, ABucketEndsWithItsBatchSegment) {
  const auto steps = EpochSteps::create(1000, 4, Tail::kPad, {{0, 24}, {60, 12}});
  ASSERT_TRUE(steps.ok());
  const auto bucket = [&](uint64_t offset) {
    const StepBucket found = steps->bucket(offset, 4);
    return std::vector<uint64_t>{found.begin, found.end, found.share};
  };
  EXPECT_EQ(bucket(0), (std::vector<uint64_t>{0, 24, 6}));
  EXPECT_EQ(bucket(59), (std::vector<uint64_t>{48, 60, 6}));
  EXPECT_EQ(bucket(60), (std::vector<uint64_t>{60, 72, 3}));
  EXPECT_EQ(bucket(248), (std::vector<uint64_t>{240, 249, 3}));
}

}  // namespace
}  // namespace headrace
