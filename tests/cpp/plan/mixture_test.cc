#include "plan/mixture.h"

#include <cmath>
#include <numeric>
#include <set>

#include "plan_testing.h"

namespace headrace {
namespace {

Mixture make_mixture(uint64_t lanes, const std::vector<double>& weights) {
  return must(Mixture::create(lanes, {{0, must(mixture_counts(weights))}}));
}

std::shared_ptr<const Schedule> mixed(std::vector<std::shared_ptr<const ShardTable>> sets,
                                      const OrderOptions& options,
                                      const std::vector<double>& weights,
                                      uint64_t epoch_samples = 0) {
  return must(Schedule::create(std::move(sets), {.order = options,
                                                 .weights = {{0, must(mixture_counts(weights))}},
                                                 .epoch_samples = epoch_samples}));
}

TEST(MixtureCounts, SumToThePeriodAndKeepEveryPositiveWeight) {
  EXPECT_EQ(must(mixture_counts({1, 1})), (std::vector<uint32_t>{32768, 32768}));
  EXPECT_EQ(must(mixture_counts({5})), (std::vector<uint32_t>{65536}));
  EXPECT_EQ(must(mixture_counts({1, 0, 3})), (std::vector<uint32_t>{16384, 0, 49152}));
  EXPECT_EQ(must(mixture_counts({1e-12, 1})), (std::vector<uint32_t>{1, 65535}));
  Dice dice(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> weights(1 + dice.below(300));
    for (double& weight : weights) weight = dice.below(4) == 0 ? 0 : std::exp(dice.below(20));
    weights.front() = 1;
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const auto counts = must(mixture_counts(weights));
    ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), 0u), kMixturePeriod);
    for (size_t s = 0; s < weights.size(); ++s) {
      const double ideal = weights[s] / sum * kMixturePeriod;
      ASSERT_EQ(counts[s] == 0, weights[s] == 0);
      // Those below one take from the others, in proportion.
      ASSERT_NEAR(counts[s], ideal, 2 + ideal * static_cast<double>(weights.size()) * 2e-5);
    }
  }
}

TEST(MixtureCounts, RefuseWeightsThatMakeNoSense) {
  const auto message = [](const std::vector<double>& weights) {
    const auto counts = mixture_counts(weights);
    return counts.ok() ? std::string("no error") : counts.error().message;
  };
  EXPECT_EQ(message({}), "a mixture without weights");
  EXPECT_EQ(message({1, -1}), "data set 1 has a weight of -1.000000");
  EXPECT_EQ(message({std::nan("")}), "data set 0 has a weight of nan");
  EXPECT_EQ(message({1, HUGE_VAL}), "data set 1 has a weight of inf");
  EXPECT_EQ(message({0, 0}), "the weights of the mixture sum to 0.000000");
  EXPECT_EQ(message(std::vector<double>(20'000, 1)), "a mixture of 20000 data sets");
}

TEST(Mixture, CountsWhatItHandsOutInEveryLane) {
  const Mixture mixture = make_mixture(48, {5, 1, 0.01, 2});
  for (const uint64_t lane : {0, 1, 17, 47}) {
    std::vector<uint64_t> next(4, 0);
    for (uint64_t at = 0; at < 3 * kMixturePeriod / 2; ++at) {
      const Mixture::Source source = mixture.at(lane, at);
      ASSERT_EQ(source.offset, next[source.set]);
      ++next[source.set];
      ASSERT_EQ(mixture.needed(lane, source.set, next[source.set]), at + 1);
    }
    for (uint32_t set = 0; set < 4; ++set)
      ASSERT_EQ(mixture.count(lane, set, 3 * kMixturePeriod / 2), next[set]);
  }
}

TEST(Mixture, EveryOffsetHasItsShareOfTheLanesRoundedUpOrDown) {
  for (const uint64_t lanes : {1, 7, 16, 128, 1000}) {
    const Mixture mixture = make_mixture(lanes, {0.5, 0.3, 0.15, 0.05});
    for (uint64_t at = 0; at < 300; ++at) {
      std::vector<double> seen(4, 0);
      for (uint64_t lane = 0; lane < lanes; ++lane) ++seen[mixture.at(lane, at).set];
      for (uint32_t set = 0; set < 4; ++set) {
        const double share =
            static_cast<double>(lanes) * mixture.segments().front().counts[set] / kMixturePeriod;
        ASSERT_LT(std::abs(seen[set] - share), 1) << "lanes " << lanes << " at " << at;
      }
    }
  }
}

TEST(Mixture, EveryLaneHasItsShareAtAnyTimeWithinAFewSamples) {
  for (const std::vector<double>& weights :
       {std::vector<double>{1, 1}, {0.9, 0.1}, {0.5, 0.3, 0.15, 0.05}, {0.618, 0.382}, {7, 2, 1}}) {
    const Mixture mixture = make_mixture(32, weights);
    double worst = 0;
    for (uint64_t lane = 0; lane < 32; lane += 5)
      for (uint64_t at = 0; at < kMixturePeriod; at += 13)
        for (uint32_t set = 0; set < weights.size(); ++set) {
          const double share =
              static_cast<double>(at) * mixture.segments().front().counts[set] / kMixturePeriod;
          worst =
              std::max(worst, std::abs(static_cast<double>(mixture.count(lane, set, at)) - share));
        }
    EXPECT_LT(worst, 4.5);
  }
}

TEST(Mixture, EveryStepHasTheProportionsOfTheWeights) {
  const auto schedule =
      mixed({uneven_table(900, 9, 8, 1), uneven_table(500, 4, 8, 2), uneven_table(100, 2, 8, 3)},
            order_options(256, 64, 30), {0.6, 0.3, 0.1});
  EpochPlan plan = must(EpochPlan::create(schedule, 0));
  for (const auto& batch : batches(plan)) {
    std::vector<double> seen(3, 0);
    for (const Row& row : batch) ++seen[row.set];
    // 4 offsets of 64 lanes, each within one of its share.
    EXPECT_NEAR(seen[0], 0.6 * 256, 4);
    EXPECT_NEAR(seen[1], 0.3 * 256, 4);
    EXPECT_NEAR(seen[2], 0.1 * 256, 4);
  }
}

TEST(Mixture, EverySetIsReadExactlyOncePerOwnEpochInEveryLane) {
  const std::vector<std::shared_ptr<const ShardTable>> tables = {
      uneven_table(400, 9, 8, 1), uneven_table(90, 4, 3, 2), uneven_table(33, 2, 8, 3)};
  const auto schedule = mixed(tables, order_options(48, 16, 30), {0.5, 0.3, 0.2});
  // Rows of every lane in order of its offsets, epoch after epoch.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<SampleRef>> read;  // by set and lane
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    EpochPlan plan = must(EpochPlan::create(schedule, epoch));
    ASSERT_EQ(plan.steps().tail_samples(), 0u);
    for (const auto& batch : batches(plan))
      for (const Row& row : batch) read[{row.set, row.lane}].push_back({row.shard, row.sample});
  }
  for (uint32_t set = 0; set < 3; ++set) {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> lane_of;
    for (uint32_t lane = 0; lane < 16; ++lane) {
      const auto& samples = read[{set, lane}];
      const uint64_t own = schedule->order(set)->lane_samples(lane);
      ASSERT_GE(samples.size(), 4 * own * 9 / 10);
      for (size_t begin = 0; begin < samples.size(); begin += own) {
        std::map<std::pair<uint32_t, uint32_t>, int> seen;
        for (size_t i = begin; i < std::min(begin + own, samples.size()); ++i)
          ASSERT_EQ((++seen[{samples[i].shard, samples[i].sample}]), 1);
        if (begin > 0) continue;
        ASSERT_EQ(seen.size(), own);
        for (const auto& [sample, times] : seen) ASSERT_TRUE(lane_of.insert({sample, lane}).second);
      }
    }
    ASSERT_EQ(lane_of.size(), tables[set]->total_samples());
  }
}

TEST(Mixture, LastsUntilTheSetThatTakesLongestEnds) {
  const std::vector<std::shared_ptr<const ShardTable>> tables = {uneven_table(400, 9, 8, 1),
                                                                 uneven_table(90, 4, 3, 2)};
  const auto schedule = mixed(tables, order_options(48, 16, 30), {0.5, 0.5});
  EpochPlan plan = must(EpochPlan::create(schedule, 0));
  std::map<std::pair<uint32_t, uint32_t>, int> seen;
  std::set<std::pair<uint32_t, uint32_t>> without_last;
  const auto all = batches(plan);
  for (size_t t = 0; t < all.size(); ++t)
    for (const Row& row : all[t])
      if (row.set == 0) {
        ++seen[{row.shard, row.sample}];
        if (t + 1 < all.size()) without_last.insert({row.shard, row.sample});
      }
  EXPECT_EQ(seen.size(), 400u);          // all of it
  EXPECT_LT(without_last.size(), 400u);  // and no step more
  EXPECT_NEAR(static_cast<double>(all.size()), 800.0 / 48, 2);
}

TEST(Mixture, RepeatsASetThatIsSmallerThanTheLanesInWholeEpochs) {
  const std::vector<std::shared_ptr<const ShardTable>> tables = {uneven_table(400, 9, 8, 1),
                                                                 make_table({0, 2, 0, 1}, 4)};
  const auto schedule = mixed(tables, order_options(32, 16, 30), {0.75, 0.25});
  EXPECT_EQ(schedule->repeats(0), 1u);
  EXPECT_EQ(schedule->repeats(1), 6u);  // 18 samples for 16 lanes
  EpochPlan plan = must(EpochPlan::create(schedule, 0));
  std::map<std::pair<uint32_t, uint32_t>, double> seen;
  double total = 0;
  for (const auto& batch : batches(plan))
    for (const Row& row : batch)
      if (row.set == 1) {
        ++seen[{row.shard, row.sample}];
        ++total;
      }
  ASSERT_EQ(seen.size(), 3u);
  for (const auto& [sample, times] : seen) {
    EXPECT_TRUE(sample.first == 1 || sample.first == 3);
    EXPECT_NEAR(times / total, 1.0 / 3, 0.12);
  }
}

TEST(Mixture, IsTheSameOnEveryWorldAndAfterEveryStop) {
  const std::vector<std::shared_ptr<const ShardTable>> tables = {
      uneven_table(120, 9, 8, 1), uneven_table(60, 4, 3, 2), make_table({3}, 2)};
  const auto schedule = mixed(tables, order_options(48, 16, 30), {0.5, 0.3, 0.2});
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    EpochPlan plan = must(EpochPlan::create(schedule, epoch));
    const auto all = batches(plan);
    const RunState run = begin_run(*schedule, {"a", "b", "c"}).at_epoch(epoch);
    for (uint64_t world = 2; world <= 16; ++world) ASSERT_EQ(batches(plan, 0, world), all);
    for (uint64_t stop = 0; stop < all.size(); ++stop) {
      const RunState state = must(decode_state(encode_state(run.before_step(plan.steps(), stop))));
      const auto again = must(Schedule::create(tables, state.options));
      EpochPlan resumed = must(EpochPlan::create(again, state.epoch, state.batches));
      ASSERT_EQ(must(resumed.steps().step_at(state.offset)), stop);
      ASSERT_TRUE(std::equal(all.begin() + static_cast<ptrdiff_t>(stop), all.end(),
                             batches(resumed, stop, 1 + stop % 16).begin()));
    }
  }
}

TEST(Mixture, GoesOnInEverySetWhenItsWeightsAndItsBatchChange) {
  const std::vector<std::shared_ptr<const ShardTable>> tables = {
      uneven_table(300, 9, 8, 1), uneven_table(200, 4, 3, 2), uneven_table(40, 2, 3, 3)};
  Dice dice(23);
  for (int round = 0; round < 30; ++round) {
    ScheduleOptions options{.order = order_options(32, 16, 30, Tail::kShort),
                            .weights = {{0, must(mixture_counts({0.5, 0.4, 0.1}))}},
                            .epoch_samples = 32 * 9};
    auto schedule = must(Schedule::create(tables, options));
    RunState state = begin_run(*schedule, {"a", "b", "c"});
    std::map<std::pair<uint32_t, uint32_t>, std::vector<SampleRef>> read;  // by set and lane
    for (int stop = 0; stop < 12; ++stop) {
      if (state.over) state = state.at_epoch(state.epoch + 1);
      EpochPlan plan = must(EpochPlan::create(schedule, state.epoch, state.batches));
      const uint64_t first = must(plan.steps().step_at(state.offset));
      const uint64_t last = std::min<uint64_t>(plan.steps().steps(), first + 1 + dice.below(5));
      for (uint64_t t = first; t < last; ++t)
        for (const Row& row : world_step(plan, t, 1 + dice.below(16)))
          read[{row.set, row.lane}].push_back({row.shard, row.sample});
      state = state.before_step(plan.steps(), last);
      if (dice.below(2) == 0)
        state = must(with_weights(
            state,
            must(mixture_counts({1.0 + dice.below(5), 1.0 * dice.below(5), 1.0 + dice.below(2)}))));
      if (dice.below(2) == 0) state = must(with_total(state, 16 * (1 + dice.below(4))));
      state = must(decode_state(encode_state(state)));
      schedule = must(Schedule::create(tables, state.options));
    }
    for (const auto& [key, samples] : read) {
      const auto& [set, lane] = key;
      const uint64_t own = schedule->order(set)->lane_samples(lane);
      for (size_t i = 0; i < samples.size(); ++i) {
        const EpochLane epoch_lane(schedule->order(set), i / own, lane);
        ASSERT_EQ(samples[i], epoch_lane.sample(i % own)) << "set " << set << " lane " << lane;
      }
    }
  }
}

TEST(Mixture, IsTheOneOfTheOrdersVersion) {
  // A change of this number is a change of the order: raise kOrderVersion with it.
  ASSERT_EQ(kOrderVersion, 1u);
  const auto schedule =
      mixed({uneven_table(120, 9, 8, 1), uneven_table(60, 4, 3, 2), make_table({3}, 2)},
            order_options(48, 16, 30), {0.5, 0.3, 0.2});
  EpochPlan plan = must(EpochPlan::create(schedule, 1));
  EXPECT_EQ(hex64(digest(batches(plan))), "9bbe0dcca8e045c2");
}

TEST(Mixture, OfEqualSetsReadsThemInUnlikeOrders) {
  const auto table = uneven_table(300, 9, 8, 1);
  const auto schedule = mixed({table, table}, order_options(32, 16, 30), {1, 1});
  int same = 0;
  for (uint32_t shard = 0; shard < 9; ++shard)
    same += schedule->order(0)->shard(shard) == schedule->order(1)->shard(shard) ? 1 : 0;
  EXPECT_LT(same, 6);
}

TEST(Schedule, RefusesSetsAndWeightsThatDoNotFit) {
  const auto table = uneven_table(30, 3, 4, 1);
  const auto message = [](std::vector<std::shared_ptr<const ShardTable>> sets,
                          ScheduleOptions options) {
    options.order = order_options(8, 4, 10);
    const auto schedule = Schedule::create(std::move(sets), options);
    return schedule.ok() ? std::string("no error") : schedule.error().message;
  };
  const auto halves = must(mixture_counts({1, 1}));
  EXPECT_EQ(message({table, table}, {}), "2 data sets without weights");
  EXPECT_EQ(message({table}, {.order = {}, .weights = {{0, halves}}}), "2 weights for 1 data sets");
  EXPECT_EQ(message({table, make_table({}, 1)}, {.order = {}, .weights = {{0, halves}}}),
            "data set 1 of the mixture has no samples");
  EXPECT_EQ(message({table, table}, {.order = {}, .weights = {{3, halves}}}),
            "the first weights of the mixture do not begin at offset 0");
  EXPECT_EQ(message({table, table}, {.order = {}, .weights = {{0, {1, 2}}}}),
            "the counts of a mixture do not sum to 65536");
  EXPECT_EQ(message({table, table}, {.order = {}, .weights = {{0, halves}}, .epoch_samples = 10}),
            "an epoch of 10 samples does not fill 4 lanes");
  EXPECT_EQ(message({table}, {.order = {}, .weights = {}, .epoch_samples = 8}),
            "a stated epoch for a single data set");
  EXPECT_EQ(message({table, table}, {.order = {}, .weights = {{0, halves}, {5, {65536}}}}),
            "the mixture changes from 2 data sets to 1");
}

}  // namespace
}  // namespace headrace
