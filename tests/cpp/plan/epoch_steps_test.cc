#include "plan/epoch_steps.h"

#include <set>

#include "plan_testing.h"

namespace headrace {
namespace {

EpochSteps make_steps(uint64_t samples, uint64_t lanes, Tail tail,
                      std::vector<BatchSegment> segments) {
  return must(EpochSteps::create(samples, lanes, tail, std::move(segments)));
}

TEST(EpochSteps, CountsFullStepsAndTheTail) {
  for (const Tail tail : {Tail::kPad, Tail::kShort, Tail::kDrop})
    for (uint64_t samples = 0; samples <= 130; ++samples)
      for (const uint64_t total : {1u, 4u, 6u, 24u, 48u}) {
        const EpochSteps steps = make_steps(samples, total == 1 ? 1 : 2, tail, {{0, total}});
        const uint64_t left = samples % total;
        const bool tail_step = left > 0 && tail != Tail::kDrop;
        ASSERT_EQ(steps.full_steps(), samples / total);
        ASSERT_EQ(steps.steps(), samples / total + (tail_step ? 1 : 0));
        if (!tail_step) continue;
        const Step last = steps.step(steps.steps() - 1);
        ASSERT_EQ(last.rows, tail == Tail::kPad ? total : left);
        ASSERT_EQ(last.samples, left);
        ASSERT_EQ(last.first_position, samples - left);
      }
}

TEST(EpochSteps, MapsPositionsToLaneOffsetsOneToOneWithAnyChangesOfTheBatch) {
  Dice dice(1);
  for (int round = 0; round < 3000; ++round) {
    const uint64_t lanes = 1 + dice.below(12);
    const uint64_t samples = dice.below(300);
    std::vector<BatchSegment> segments = {{0, lanes * (1 + dice.below(5))}};
    for (int change = 0; change < 3; ++change) {
      const BatchSegment last = segments.back();
      const uint64_t from = last.from + (1 + dice.below(3)) * (last.total / lanes);
      if (from <= samples / lanes) segments.push_back({from, lanes * (1 + dice.below(5))});
    }
    const EpochSteps steps = make_steps(samples, lanes, Tail::kPad, segments);
    std::set<std::pair<uint64_t, uint64_t>> seen;
    for (uint64_t position = 0; position < samples; ++position) {
      const LaneRun run = steps.run(position);
      const uint64_t size = (run.lane + 1) * samples / lanes - run.lane * samples / lanes;
      ASSERT_LT(run.lane, lanes);
      ASSERT_LE(run.offset + run.count, size);
      ASSERT_GE(run.count, 1u);
      ASSERT_TRUE(seen.insert({run.lane, run.offset}).second);
      for (uint64_t i = 0; i < run.count && position + i < samples; ++i) {
        ASSERT_EQ(steps.position(run.lane, run.offset + i), position + i);
        ASSERT_EQ(steps.run(position + i).lane, run.lane);
        ASSERT_EQ(steps.run(position + i).offset, run.offset + i);
      }
    }
    // Steps lie end to end, begin where they say, and take as much of every lane.
    uint64_t next = 0;
    for (uint64_t t = 0; t < steps.steps(); ++t) {
      const Step step = steps.step(t);
      ASSERT_EQ(step.first_position, next);
      next += step.samples;
      if (t >= steps.full_steps()) continue;
      ASSERT_EQ(must(steps.step_at(steps.offset_before(t))), t);
      ASSERT_EQ(step.first_position, lanes * steps.offset_before(t));
      for (uint64_t row = 0; row < step.rows; ++row) {
        const LaneRun run = steps.run(step.first_position + row);
        ASSERT_EQ(run.lane, row / (step.rows / lanes));
        ASSERT_GE(run.offset, steps.offset_before(t));
        ASSERT_LT(run.offset, steps.offset_before(t + 1));
      }
    }
    ASSERT_EQ(next, samples);
  }
}

TEST(EpochSteps, RefusesSegmentsThatDoNotFit) {
  const auto message = [](std::vector<BatchSegment> segments) {
    const auto steps = EpochSteps::create(100, 4, Tail::kPad, std::move(segments));
    return steps.ok() ? std::string("no error") : steps.error().message;
  };
  EXPECT_EQ(message({{0, 8}, {4, 12}}), "no error");
  EXPECT_EQ(message({}), "the first batch segment does not begin at lane offset 0");
  EXPECT_EQ(message({{2, 8}}), "the first batch segment does not begin at lane offset 0");
  EXPECT_EQ(message({{0, 6}}), "4 lanes do not divide the global batch of 6 rows");
  EXPECT_EQ(message({{0, 0}}), "4 lanes do not divide the global batch of 0 rows");
  EXPECT_EQ(message({{0, 8}, {3, 12}}), "no step of 8 rows ends at lane offset 3");
  EXPECT_EQ(message({{0, 8}, {0, 12}}), "no step of 8 rows ends at lane offset 0");
  EXPECT_EQ(message({{0, 8}, {26, 12}}), "lane offset 26 is past the end of the epoch");
  const EpochSteps steps = make_steps(100, 4, Tail::kPad, {{0, 8}});
  EXPECT_EQ(steps.step_at(3).error().message, "no step begins at lane offset 3");
  EXPECT_EQ(steps.step_at(26).error().message, "no step begins at lane offset 26");
}

}  // namespace
}  // namespace headrace
