// Every cut point: whatever the data, the world, the batch, the lanes, the window and the tail, and
// wherever a run stops and on whatever world it goes on, every sample comes exactly once.
#include "plan_testing.h"

namespace headrace {
namespace {

constexpr uint64_t kMostWorld = 16;

struct Config {
  uint32_t samples = 0, shards = 1, block = 8;
  uint64_t batch = 1, lanes = 1, window = 50;
  Tail tail = Tail::kPad;
  bool shuffle = true;
};

std::string describe(const Config& c) {
  return "samples " + std::to_string(c.samples) + " shards " + std::to_string(c.shards) +
         " block " + std::to_string(c.block) + " batch " + std::to_string(c.batch) + " lanes " +
         std::to_string(c.lanes) + " window " + std::to_string(c.window) + " tail " +
         tail_name(c.tail) + (c.shuffle ? "" : " in order");
}

OrderOptions options_of(const Config& c) {
  OrderOptions options = order_options(c.batch, c.lanes, c.window, c.tail);
  options.shuffle = c.shuffle;
  return options;
}

std::shared_ptr<const ShardTable> table_of(const Config& c) {
  return uneven_table(c.samples, c.shards, c.block, c.samples + c.shards);
}

/// A grid over everything that shapes a run; `each` sees every configuration.
template <typename Each>
void for_each_config(const std::vector<uint32_t>& sizes, Each each) {
  for (const uint32_t samples : sizes)
    for (const uint32_t shards : {1u, 6u, 40u})
      for (const auto& [batch, lanes] : std::vector<std::pair<uint64_t, uint64_t>>{
               {1, 1}, {7, 7}, {48, 1}, {48, 16}, {60, 12}, {1024, 128}})
        for (const auto& [window, block] :
             std::vector<std::pair<uint64_t, uint32_t>>{{1, 1}, {50, 8}, {5000, 64}})
          for (const Tail tail : {Tail::kPad, Tail::kShort, Tail::kDrop})
            for (const bool shuffle : {true, false}) {
              if (!shuffle && (lanes != 1 || window != 50)) continue;
              each(Config{samples, shards, block, batch, lanes, window, tail, shuffle});
            }
}

/// What the tail owes: the union is the data set once each; pad repeats the epoch's first rows.
void expect_whole_epoch(const Config& c, const ShardTable& table,
                        const std::vector<std::vector<Row>>& all) {
  std::vector<Row> sequence;
  for (const auto& batch : all) sequence.insert(sequence.end(), batch.begin(), batch.end());
  const uint64_t full = c.samples / c.batch * c.batch;
  const uint64_t left = c.samples - full;
  const uint64_t padding = left > 0 && c.tail == Tail::kPad ? c.batch - left : 0;
  const uint64_t delivered = c.tail == Tail::kDrop ? full : c.samples;
  ASSERT_EQ(sequence.size(), delivered + padding);
  for (uint64_t i = 0; i < sequence.size(); ++i) {
    ASSERT_EQ(sequence[i].padded, i >= delivered);
    const uint64_t position = i < delivered ? i : (i - delivered) % c.samples;
    Row expected = sequence[position];
    expected.padded = i >= delivered;
    ASSERT_EQ(sequence[i].position, position);
    ASSERT_EQ(sequence[i], expected);
  }
  if (c.tail != Tail::kDrop) return expect_exactly_once(table, all);
  const auto seen = counts(all);
  ASSERT_EQ(seen.size(), full);
  for (const auto& [sample, times] : seen) ASSERT_EQ(times, 1);
}

TEST(CutPoints, EveryEpochIsTheDataSetOnceAndTheSameOnEveryWorld) {
  for_each_config({0, 1, 5, 47, 997}, [](const Config& c) {
    SCOPED_TRACE(describe(c));
    const auto table = table_of(c);
    EpochPlan plan = must(EpochPlan::create(single(table, options_of(c)), 2));
    const auto all = batches(plan);
    expect_whole_epoch(c, *table, all);
    if (testing::Test::HasFatalFailure()) return;
    for (uint64_t world = 2; world <= kMostWorld; ++world) ASSERT_EQ(batches(plan, 0, world), all);
    for (const auto& batch : all)
      for (const Row& row : batch) {
        ASSERT_EQ(plan.position({row.shard, row.sample}), row.position);
        Row real = row;
        real.padded = false;
        ASSERT_EQ(plan.row_at(row.position), real);
      }
  });
}

TEST(CutPoints, EveryRankTakesEveryStepAndItsShareOfEachIsFair) {
  for_each_config({5, 997}, [](const Config& c) {
    SCOPED_TRACE(describe(c));
    EpochPlan plan = must(EpochPlan::create(single(table_of(c), options_of(c)), 0));
    for (uint64_t world = 1; world <= kMostWorld; ++world)
      for (uint64_t t = 0; t < plan.steps().steps(); t += 3)
        for (uint64_t rank = 0; rank < world; ++rank) {
          const uint64_t share = plan.steps().step(t).rows / world;
          const size_t rows = rank_step(plan, t, rank, world).size();
          ASSERT_TRUE(rows == share || rows == share + 1);
        }
  });
}

/// Saves before every step and after the last, loads into a new run, and goes on there.
void stop_everywhere(const Config& c) {
  SCOPED_TRACE(describe(c));
  const auto table = table_of(c);
  const auto schedule = single(table, options_of(c));
  EpochPlan plan = must(EpochPlan::create(schedule, 1));
  const auto all = batches(plan);
  const RunState run = begin_run(*schedule, {"data"}).at_epoch(1);
  for (uint64_t stop = 0; stop <= all.size(); ++stop) {
    const std::string saved = encode_state(run.before_step(plan.steps(), stop));
    const RunState state = must(decode_state(saved));
    ASSERT_EQ(encode_state(state), saved);
    ASSERT_TRUE(check_compatible(state, run).ok());
    ASSERT_EQ(state.over, stop > 0 && stop == all.size());
    const auto again = must(Schedule::create({table}, state.options));
    EpochPlan resumed = must(EpochPlan::create(again, state.epoch, state.batches));
    ASSERT_EQ(resumed.steps().steps(), all.size());
    if (state.over) continue;
    ASSERT_EQ(must(resumed.steps().step_at(state.offset)), stop);
    for (uint64_t world = 1; world <= kMostWorld; ++world) {
      if (stop == all.size()) continue;  // an epoch without steps
      // The step after the stop and the last one; the ones between follow from them.
      ASSERT_EQ(world_step(resumed, stop, world), all[stop]);
      ASSERT_EQ(world_step(resumed, all.size() - 1, world), all.back());
    }
    ASSERT_TRUE(std::equal(all.begin() + static_cast<ptrdiff_t>(stop), all.end(),
                           batches(resumed, stop, 1 + stop % kMostWorld).begin()));
  }
}

TEST(CutPoints, StoppedAfterEveryStepAndResumedOnEveryWorldTheBatchesAreTheSame) {
  for_each_config({0, 1, 47, 331}, [](const Config& c) {
    if (c.batch == 1 && c.samples > 47) return;  // covered by 7
    stop_everywhere(c);
  });
  stop_everywhere({.samples = 1009, .shards = 40, .batch = 48, .lanes = 16});
  stop_everywhere({.samples = 1009, .shards = 13, .batch = 7, .lanes = 1, .tail = Tail::kShort});
}

TEST(CutPoints, ResumedWithOtherBatchesEverySampleStillComesOnce) {
  Dice dice(11);
  for (int round = 0; round < 400; ++round) {
    const uint64_t lanes = 1 + dice.below(12);
    Config c{.samples = dice.below(600),
             .shards = 1 + dice.below(40),
             .block = 1 + dice.below(20),
             .batch = lanes * (1 + dice.below(6)),
             .lanes = lanes,
             .window = 1 + dice.below(90)};
    c.tail = dice.below(2) == 0 ? Tail::kPad : Tail::kShort;
    SCOPED_TRACE(describe(c));
    const auto table = table_of(c);
    auto schedule = single(table, options_of(c));
    RunState state = begin_run(*schedule, {"data"});
    std::vector<std::vector<Row>> all;
    for (;;) {
      EpochPlan plan = must(EpochPlan::create(schedule, 0, state.batches));
      const uint64_t first = must(plan.steps().step_at(state.offset));
      ASSERT_EQ(first, all.size());
      const uint64_t left = plan.steps().steps() - first;
      const uint64_t take = std::min<uint64_t>(left, dice.below(8));
      const uint64_t world = 1 + dice.below(kMostWorld);
      for (uint64_t t = first; t < first + take; ++t) all.push_back(world_step(plan, t, world));
      for (const auto& batch : all)
        for (const Row& row : batch) ASSERT_EQ(plan.row_at(row.position).sample, row.sample);
      state = must(decode_state(encode_state(state.before_step(plan.steps(), first + take))));
      if (take == left) break;
      // floor((N - L o) / G2) full steps are left, and a tail.
      const uint64_t total = lanes * (1 + dice.below(6));
      state = must(with_total(state, total));
      const auto next = must(EpochPlan::create(schedule, 0, state.batches));
      ASSERT_EQ(next.steps().full_steps() - must(next.steps().step_at(state.offset)),
                (c.samples - lanes * state.offset) / total);
      schedule = must(Schedule::create({table}, state.options));
    }
    expect_exactly_once(*table, all);
    if (HasFatalFailure()) return;
  }
}

TEST(CutPoints, WithoutShuffleTheStepsAreTheManifestInOrder) {
  const auto table = make_table({5, 0, 7, 1, 20}, 4);
  OrderOptions options = order_options(6, 1, 8, Tail::kShort);
  options.shuffle = false;
  for (const uint64_t epoch : {0, 9}) {
    EpochPlan plan = must(EpochPlan::create(single(table, options), epoch));
    std::vector<std::pair<uint32_t, uint32_t>> read, expected;
    for (const auto& batch : batches(plan))
      for (const Row& row : batch) read.push_back({row.shard, row.sample});
    for (uint32_t shard = 0; shard < table->size(); ++shard)
      for (uint32_t i = 0; i < table->samples[shard]; ++i) expected.push_back({shard, i});
    EXPECT_EQ(read, expected);
  }
}

TEST(CutPoints, TheOrderIsTheOneOfItsVersion) {
  // A change of these numbers is a change of the order: raise kOrderVersion with it.
  ASSERT_EQ(kOrderVersion, 1u);
  const auto order_digest = [](const Config& c, uint64_t epoch) {
    EpochPlan plan = must(EpochPlan::create(single(table_of(c), options_of(c)), epoch));
    return hex64(digest(batches(plan)));
  };
  EXPECT_EQ(order_digest({.samples = 997, .shards = 40, .batch = 48, .lanes = 16}, 0),
            "00a7508be30cca78");
  EXPECT_EQ(order_digest({.samples = 997, .shards = 40, .batch = 48, .lanes = 16}, 1),
            "00fa69fe1edaf150");
  EXPECT_EQ(order_digest({.samples = 5, .shards = 3, .batch = 32, .lanes = 32}, 0),
            "188454c1c18b52e3");
  EXPECT_EQ(order_digest({.samples = 331, .shards = 6, .batch = 7, .lanes = 7, .window = 1}, 5),
            "0d91b9f1d201d145");
  EXPECT_EQ(order_digest({.samples = 100'000,
                          .shards = 100,
                          .block = 64,
                          .batch = 1024,
                          .lanes = 128,
                          .window = 300},
                         3),
            "262c86a137450aea");
}

}  // namespace
}  // namespace headrace
