#include "plan/epoch_lane.h"

#include <algorithm>
#include <map>
#include <set>

#include "plan_testing.h"

namespace headrace {
namespace {

struct Case {
  uint32_t samples, shards, block;
  uint64_t lanes, window;
  bool shuffle = true;
};

std::shared_ptr<const Order> make_order(const Case& c) {
  OrderOptions options = order_options(c.lanes, c.lanes, c.window);
  options.shuffle = c.shuffle;
  return must(Order::create(uneven_table(c.samples, c.shards, c.block, c.samples), options));
}

const std::vector<Case> kCases = {
    {1000, 17, 8, 1, 50},     {1000, 17, 8, 7, 50},
    {1000, 3, 64, 16, 10},    {997, 40, 1, 8, 5},
    {1000, 1, 300, 4, 40},    {5, 3, 2, 16, 4},
    {1, 1, 1, 1, 1},          {0, 2, 1, 4, 1},
    {300, 9, 16, 3, 1000},    {1000, 17, 8, 1, 50, false},
    {40, 40, 3, 1, 1, false},
};

TEST(EpochLane, MapsOffsetsToSamplesOneToOneAndBack) {
  for (const Case& c : kCases) {
    const auto order = make_order(c);
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (uint64_t lane = 0; lane < c.lanes; ++lane) {
      const EpochLane epoch_lane(order, 3, lane);
      ASSERT_EQ(epoch_lane.size(), order->lane_samples(lane));
      for (uint64_t offset = 0; offset < epoch_lane.size(); ++offset) {
        const SampleRef sample = epoch_lane.sample(offset);
        ASSERT_LT(sample.sample, order->table().samples[sample.shard]);
        ASSERT_EQ(order->lane_of(order->place_of(sample)), lane);
        ASSERT_EQ(epoch_lane.offset(sample), offset);
        seen.insert({sample.shard, sample.sample});
      }
    }
    EXPECT_EQ(seen.size(), c.samples);
  }
}

TEST(EpochLane, WindowsCoverEverySampleOnceInWholeBlocksButForTheEdges) {
  for (const Case& c : kCases) {
    const auto order = make_order(c);
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (uint64_t lane = 0; lane < c.lanes; ++lane) {
      const EpochLane epoch_lane(order, 1, lane);
      uint64_t next = 0;
      uint64_t parts = 0;
      std::set<std::pair<uint32_t, uint32_t>> blocks;
      for (uint64_t window = 0; window < epoch_lane.windows(); ++window) {
        const OffsetRange range = epoch_lane.window(window);
        ASSERT_EQ(range.begin, next);
        ASSERT_GT(range.end, range.begin);
        ASSERT_LE(range.size(), order->window());
        if (window > 0 && range.end < epoch_lane.size()) {
          ASSERT_EQ(range.size(), order->window());
        }
        next = range.end;
        std::set<std::pair<uint32_t, uint32_t>> in_window;
        for (const BlockPart& part : epoch_lane.blocks(window)) {
          ++parts;
          blocks.insert({part.shard, part.block});
          const uint32_t block_samples = order->table().block_samples[part.shard];
          ASSERT_EQ(part.first / block_samples, part.block);
          ASSERT_EQ((part.first + part.count - 1) / block_samples, part.block);
          for (uint32_t i = 0; i < part.count; ++i) {
            ASSERT_TRUE(seen.insert({part.shard, part.first + i}).second);
            in_window.insert({part.shard, part.first + i});
          }
        }
        for (uint64_t offset = range.begin; offset < range.end; ++offset) {
          ASSERT_EQ(epoch_lane.window_of(offset), window);
          const SampleRef sample = epoch_lane.sample(offset);
          ASSERT_TRUE(in_window.contains({sample.shard, sample.sample}));
        }
        ASSERT_EQ(in_window.size(), range.size());
      }
      ASSERT_EQ(next, epoch_lane.size());
      // A window's end cuts at most one block in two.
      if (parts > 0) {
        ASSERT_LE(parts, blocks.size() + epoch_lane.windows() - 1);
      }
    }
    EXPECT_EQ(seen.size(), c.samples);
  }
}

TEST(LaneReader, ReadsWhatSampleSaysFromAnyOffset) {
  for (const Case& c : kCases) {
    const auto order = make_order(c);
    for (uint64_t lane = 0; lane < c.lanes; ++lane) {
      const EpochLane epoch_lane(order, 2, lane);
      LaneReader reader(epoch_lane);
      for (const uint64_t begin : {uint64_t{0}, epoch_lane.size() / 3, epoch_lane.size() / 7}) {
        std::vector<SampleRef> read(epoch_lane.size() - begin);
        reader.read(begin, read);
        for (uint64_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], epoch_lane.sample(begin + i));
      }
    }
  }
}

TEST(LaneReader, EverySampleLiesInThePartOfItsBlockThatTheWindowReads) {
  for (const Case& c : kCases) {
    const auto order = make_order(c);
    const EpochLane lane(order, 1, 0);
    LaneReader reader(lane);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> rows, counts;  // by shard and first sample
    for (uint64_t offset = 0; offset < lane.size(); ++offset) {
      const SampleRef sample = lane.sample(offset);
      const BlockPart part = reader.part(offset);
      ASSERT_EQ(part.shard, sample.shard);
      ASSERT_GE(sample.sample, part.first);
      ASSERT_LT(sample.sample, part.first + part.count);
      ++rows[{part.shard, part.first}];
      counts[{part.shard, part.first}] = part.count;
    }
    EXPECT_EQ(rows, counts);
  }
}

TEST(EpochLane, KeepsItsSamplesButNotTheirOrderFromEpochToEpoch) {
  const auto order = make_order({1000, 17, 8, 4, 50});
  const auto read = [&](uint64_t epoch) {
    LaneReader reader(EpochLane(order, epoch, 2));
    std::vector<SampleRef> samples(reader.lane().size());
    reader.read(0, samples);
    return samples;
  };
  const auto less = [](SampleRef a, SampleRef b) {
    return std::pair(a.shard, a.sample) < std::pair(b.shard, b.sample);
  };
  std::vector<SampleRef> first = read(0), second = read(1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, read(0));
  std::sort(first.begin(), first.end(), less);
  std::sort(second.begin(), second.end(), less);
  EXPECT_EQ(first, second);
}

TEST(EpochLane, FirstWindowsDifferSoThatLanesRefillAtDifferentTimes) {
  const auto order = make_order({10'000, 17, 8, 16, 50});
  std::set<uint64_t> firsts;
  double sum = 0;
  for (uint64_t epoch = 0; epoch < 50; ++epoch)
    for (uint64_t lane = 0; lane < 16; ++lane) {
      const uint64_t first = EpochLane(order, epoch, lane).window(0).size();
      ASSERT_GE(first, 1u);
      ASSERT_LE(first, 50u);
      firsts.insert(first);
      sum += static_cast<double>(first);
    }
  EXPECT_EQ(firsts.size(), 50u);           // 800 draws of 50 lengths
  EXPECT_NEAR(sum / 800, 25.5, 4 * 0.51);  // 4 standard errors of a uniform length
}

TEST(EpochLane, ThatFitsInOneWindowIsOneWindow) {
  const auto order = make_order({300, 9, 16, 3, 1000});
  for (uint64_t epoch = 0; epoch < 20; ++epoch) EXPECT_EQ(EpochLane(order, epoch, 1).windows(), 1u);
}

}  // namespace
}  // namespace headrace
