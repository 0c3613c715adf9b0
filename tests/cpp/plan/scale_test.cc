// 10^7 shards, 10^12 samples, 10,000 ranks, by arithmetic: nothing but the plan is real.
#include <cstdio>
#include <ctime>
#include <fstream>

#include "plan_testing.h"

namespace headrace {
namespace {

constexpr uint64_t kShards = 10'000'000, kRanks = 10'000, kRankBatch = 256;

// Processor time: the plan is one thread that waits for nothing, and tests share their machine.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// The most memory that this process ever had, in bytes; 0 where Linux does not tell.
uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      uint64_t kib = 0;
      status >> kib;
      return kib << 10;
    }
  return 0;
}

std::shared_ptr<const ShardTable> huge_table() {
  auto table = std::make_shared<ShardTable>();
  table->samples.assign(kShards, 100'000);
  for (uint64_t i = 0; i < kShards; i += 2) {  // uneven, with the same sum
    table->samples[i] -= static_cast<uint32_t>(i % 977);
    table->samples[i + 1] += static_cast<uint32_t>(i % 977);
  }
  table->block_samples.assign(kShards, 40);
  table->bytes.assign(kShards, 10'000'000'000);
  return table;
}

TEST(Scale, OneRankOfTenThousandPlansATrillionSamplesInSeconds) {
  const auto table = huge_table();
  const uint64_t batch = kRanks * kRankBatch;
  OrderOptions options = order_options(batch, default_lanes(kRanks, batch), 1);
  options.window_bytes = uint64_t{32} << 20;

  const auto start = std::clock();
  const auto schedule = single(table, options);
  const double built = seconds_since(start);
  EpochPlan plan = must(EpochPlan::create(schedule, 1));
  constexpr uint64_t kRank = 6789;
  std::vector<Row> rows = rank_step(plan, 0, kRank, kRanks);
  const double planned = seconds_since(start);
  ASSERT_EQ(schedule->epoch_samples(), 1'000'000'000'000u);
  ASSERT_EQ(rows.size(), kRankBatch);

  const auto bulk_start = std::clock();
  uint64_t read = 0;
  for (uint64_t t = 1000; t < 5000; ++t, read += rows.size()) {
    rows.clear();
    plan.rows(t, rank_rows(batch, kRank, kRanks), rows);
  }
  const double bulk = static_cast<double>(read) / seconds_since(bulk_start);

  const auto scattered_start = std::clock();
  constexpr uint64_t kScattered = 100'000;
  const EpochLane lane(schedule->order(0), 1, kRank * 16);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < kScattered; ++i) sum += lane.sample(mix(i, 1) % lane.size()).sample;
  const double scattered = kScattered / seconds_since(scattered_start);
  ASSERT_GT(sum, 0u);

  for (const Row& row : rows) {
    ASSERT_LT(row.sample, table->samples[row.shard]);
    ASSERT_EQ(plan.position({row.shard, row.sample}), row.position);
  }
  const uint64_t peak = peak_memory();
  std::printf(
      "10^7 shards, 10^12 samples, 10,000 ranks: order %.2f s, first step %.2f s, "
      "%.1f million rows/s in order, %.2f million scattered, peak %lu MiB\n",
      built, planned, bulk / 1e6, scattered / 1e6, static_cast<unsigned long>(peak >> 20));
#ifndef HEADRACE_SANITIZED
  EXPECT_LT(planned, 5);
  EXPECT_LT(peak, uint64_t{1} << 30);
  EXPECT_GT(bulk, 1e6);
#endif
}

}  // namespace
}  // namespace headrace
