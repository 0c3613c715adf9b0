// What the tests of the plan share: shard tables, schedules, the rows of whole epochs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/counter_rng.h"
#include "base/digest.h"
#include "plan/epoch_plan.h"
#include "plan/run_state.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADRACE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(undefined_behavior_sanitizer)
#define HEADRACE_SANITIZED 1
#endif
#endif

namespace headrace {

inline constexpr uint64_t kSampleBytes = 1000;

/// Repeatable random numbers for property tests.
class Dice {
 public:
  explicit Dice(uint64_t seed) : rng_(seed, 0, 0, 0) {}
  /// Uniform in [0, n).
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(rng_.below(n)); }

 private:
  CounterRng rng_;
};

inline std::shared_ptr<const ShardTable> make_table(const std::vector<uint32_t>& samples,
                                                    uint32_t block_samples) {
  auto table = std::make_shared<ShardTable>();
  table->samples = samples;
  table->block_samples.assign(samples.size(), block_samples);
  for (const uint32_t count : samples) table->bytes.push_back(count * kSampleBytes);
  return table;
}

/// `shards` shards of uneven size, some of them empty, with `total` samples and uneven blocks.
inline std::shared_ptr<const ShardTable> uneven_table(uint32_t total, uint32_t shards,
                                                      uint32_t block_samples, uint32_t seed) {
  Dice dice(seed);
  std::vector<uint32_t> samples(shards, 0);
  for (uint32_t dealt = 0; dealt < total;) {
    const uint32_t some = std::min<uint32_t>(total - dealt, 1 + dice.below(40));
    const uint32_t shard = dice.below(shards);
    samples[shard % 5 == 3 && shards > 5 ? 0 : shard] += some;  // every fifth stays empty
    dealt += some;
  }
  auto table = std::make_shared<ShardTable>(*make_table(samples, block_samples));
  for (uint32_t& block : table->block_samples) block = block - dice.below(std::min(3u, block));
  return table;
}

inline OrderOptions order_options(uint64_t global_batch, uint64_t lanes, uint64_t window_samples,
                                  Tail tail = Tail::kPad, uint64_t seed = 7) {
  OrderOptions options;
  options.shuffle = true;
  options.seed = seed;
  options.global_batch = global_batch;
  options.lanes = lanes;
  options.window_bytes = window_samples * kSampleBytes;
  options.tail = tail;
  return options;
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().to_string());
  return std::move(result).value();
}

inline std::shared_ptr<const Schedule> single(std::shared_ptr<const ShardTable> table,
                                              const OrderOptions& options) {
  return must(Schedule::create({std::move(table)}, {.order = options, .weights = {}}));
}

/// The rows of step t on one rank.
inline std::vector<Row> rank_step(EpochPlan& plan, uint64_t t, uint64_t rank, uint64_t world) {
  std::vector<Row> rows;
  plan.rows(t, rank_rows(plan.steps().step(t).rows, rank, world), rows);
  return rows;
}

/// The rows of step t on all ranks, in rank order.
inline std::vector<Row> world_step(EpochPlan& plan, uint64_t t, uint64_t world) {
  std::vector<Row> rows;
  for (uint64_t rank = 0; rank < world; ++rank)
    plan.rows(t, rank_rows(plan.steps().step(t).rows, rank, world), rows);
  return rows;
}

/// Global batches from step `first` on.
inline std::vector<std::vector<Row>> batches(EpochPlan& plan, uint64_t first = 0,
                                             uint64_t world = 1) {
  std::vector<std::vector<Row>> all;
  for (uint64_t t = first; t < plan.steps().steps(); ++t) all.push_back(world_step(plan, t, world));
  return all;
}

/// How often each sample of the table came, padded rows left out.
inline std::map<std::pair<uint32_t, uint32_t>, int> counts(
    const std::vector<std::vector<Row>>& batches) {
  std::map<std::pair<uint32_t, uint32_t>, int> seen;
  for (const auto& batch : batches)
    for (const Row& row : batch)
      if (!row.padded) ++seen[{row.shard, row.sample}];
  return seen;
}

/// Every sample of the table came once and nothing else did.
inline void expect_exactly_once(const ShardTable& table,
                                const std::vector<std::vector<Row>>& batches) {
  const auto seen = counts(batches);
  ASSERT_EQ(seen.size(), table.total_samples());
  for (const auto& [sample, times] : seen) {
    ASSERT_LT(sample.first, table.size());
    ASSERT_LT(sample.second, table.samples[sample.first]);
    ASSERT_EQ(times, 1) << "shard " << sample.first << " sample " << sample.second;
  }
}

/// XXH3 of the sequence of (set, shard, sample).
inline uint64_t digest(const std::vector<std::vector<Row>>& batches) {
  std::vector<uint32_t> words;
  for (const auto& batch : batches)
    for (const Row& row : batch) words.insert(words.end(), {row.set, row.shard, row.sample});
  return xxh3(std::as_bytes(std::span(words)));
}

}  // namespace headrace
