#include "plan/order.h"

#include "plan_testing.h"

namespace headrace {
namespace {

TEST(DefaultLanes, AreSixteenARankOrTheLargestDivisorOfItsBatchBelow) {
  EXPECT_EQ(default_lanes(8, 2048), 128u);
  EXPECT_EQ(default_lanes(1, 256), 16u);
  EXPECT_EQ(default_lanes(4, 4 * 30), 4u * 15);
  EXPECT_EQ(default_lanes(4, 4 * 17), 4u * 1);
  EXPECT_EQ(default_lanes(3, 3 * 5), 15u);
  EXPECT_EQ(default_lanes(10'000, 2'560'000), 160'000u);
}

TEST(DefaultLanes, DivideTheBatchAlsoWhenTheWorldDoesNot) {
  EXPECT_EQ(default_lanes(7, 2048), 64u);    // the largest divisor up to 112
  EXPECT_EQ(default_lanes(7, 1009), 1009u);  // a prime: one would be less than a lane a rank
  EXPECT_EQ(default_lanes(16, 10), 10u);     // more ranks than rows
  for (uint64_t world = 1; world <= 40; ++world)
    for (uint64_t batch = 1; batch <= 300; ++batch) {
      const uint64_t lanes = default_lanes(world, batch);
      ASSERT_EQ(batch % lanes, 0u);
      if (batch % world == 0) {
        ASSERT_EQ(lanes % world, 0u);
      }
    }
}

TEST(RankRows, CoverAStepInOrderWithPartsThatDifferByAtMostOne) {
  for (uint64_t rows = 0; rows <= 70; ++rows)
    for (uint64_t world = 1; world <= 20; ++world) {
      uint64_t next = 0;
      for (uint64_t rank = 0; rank < world; ++rank) {
        const RowRange range = rank_rows(rows, rank, world);
        ASSERT_EQ(range.begin, next);
        ASSERT_GE(range.size(), rows / world);
        ASSERT_LE(range.size(), rows / world + 1);
        next = range.end;
      }
      ASSERT_EQ(next, rows);
    }
}

TEST(Tails, AreReadByNameAndRefusedByName) {
  for (const Tail tail : {Tail::kPad, Tail::kShort, Tail::kDrop})
    EXPECT_EQ(must(parse_tail(tail_name(tail))), tail);
  EXPECT_EQ(parse_tail("shrot").error().message, "unknown tail \"shrot\"");
}

TEST(WindowSamples, FollowFromTheTableAndHoldTheLargestBlock) {
  EXPECT_EQ(window_samples(*make_table({100, 50}, 10), 20 * kSampleBytes), 20u);
  EXPECT_EQ(window_samples(*make_table({100, 50}, 64), 20 * kSampleBytes), 64u);
  EXPECT_EQ(window_samples(*make_table({20, 5}, 64), 2 * kSampleBytes), 20u);
  EXPECT_EQ(window_samples(*make_table({}, 64), 1), 1u);
  EXPECT_EQ(window_samples(*make_table({5}, 1), ~uint64_t{0}), ~uint64_t{0} / kSampleBytes);
}

TEST(Order, KnowsThePlaceAndTheLaneOfEverySample) {
  for (const uint32_t shards : {1u, 2u, 7u, 40u})
    for (const uint64_t lanes : {1u, 3u, 16u, 1024u})
      for (const bool shuffle : {true, false}) {
        if (!shuffle && lanes != 1) continue;
        const auto table = uneven_table(500, shards, 8, shards);
        OrderOptions options = order_options(lanes, lanes, 32);
        options.shuffle = shuffle;
        const auto order = must(Order::create(table, options));
        std::vector<bool> seen(500, false);
        for (uint32_t shard = 0; shard < table->size(); ++shard)
          for (uint32_t sample = 0; sample < table->samples[shard]; ++sample) {
            const uint64_t place = order->place_of({shard, sample});
            ASSERT_LT(place, 500u);
            ASSERT_FALSE(seen[place]);
            seen[place] = true;
            ASSERT_EQ(order->sample_at(place), (SampleRef{shard, sample}));
            const uint64_t lane = order->lane_of(place);
            ASSERT_LE(order->lane_begin(lane), place);
            ASSERT_LT(place, order->lane_begin(lane + 1));
          }
      }
}

TEST(Order, IsTheManifestWithoutShuffle) {
  OrderOptions options = order_options(4, 1, 8);
  options.shuffle = false;
  const auto order = must(Order::create(make_table({3, 0, 2}, 2), options));
  const std::vector<SampleRef> expected = {{0, 0}, {0, 1}, {0, 2}, {2, 0}, {2, 1}};
  for (uint64_t place = 0; place < 5; ++place) EXPECT_EQ(order->sample_at(place), expected[place]);
}

TEST(Order, RefusesOptionsAndTablesThatContradictThemselves) {
  const auto message = [](const ShardTable& table, OrderOptions options) {
    const auto order = Order::create(std::make_shared<ShardTable>(table), options);
    return order.ok() ? std::string("no error") : order.error().message;
  };
  const ShardTable table = *make_table({10, 20}, 4);
  EXPECT_EQ(message(table, order_options(0, 1, 8)), "a global batch of 0 rows");
  EXPECT_EQ(message(table, order_options(10, 4, 8)),
            "4 lanes do not divide the global batch of 10 rows");
  EXPECT_EQ(message(table, order_options(10, 0, 8)),
            "0 lanes do not divide the global batch of 10 rows");
  EXPECT_EQ(message(table, order_options(10, 5, 0)), "a window of 0 bytes");
  OrderOptions in_order = order_options(10, 5, 8);
  in_order.shuffle = false;
  EXPECT_EQ(message(table, in_order), "5 lanes without shuffle");
  ShardTable uneven = table;
  uneven.bytes.pop_back();
  EXPECT_EQ(message(uneven, order_options(10, 5, 8)), "the shard table's columns differ in length");
  ShardTable no_block = table;
  no_block.block_samples[1] = 0;
  EXPECT_EQ(message(no_block, order_options(10, 5, 8)), "shard number 1 has blocks of 0 samples");
}

}  // namespace
}  // namespace headrace
