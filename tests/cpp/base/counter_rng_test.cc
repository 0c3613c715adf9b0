#include "base/counter_rng.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace headrace {
namespace {

TEST(CounterRng, DrawsTheSameNumbersForEver) {
  CounterRng rng(1, 2, 3, 4);
  EXPECT_EQ(rng.bits(), uint64_t{15729297420998508756u});
  EXPECT_EQ(rng.bits(), uint64_t{6120335224832777194u});
  EXPECT_DOUBLE_EQ(rng.uniform(), 0.83594194656036624);
  EXPECT_EQ(rng.below(1000), 956u);
}

TEST(CounterRng, DependsOnEveryWordOfItsCounter) {
  std::set<uint64_t> first;
  for (uint64_t seed = 0; seed < 8; ++seed)
    for (uint64_t epoch = 0; epoch < 8; ++epoch)
      for (uint64_t position = 0; position < 8; ++position)
        for (uint64_t op = 0; op < 8; ++op)
          first.insert(CounterRng(seed, epoch, position, op).bits());
  EXPECT_EQ(first.size(), 8u * 8 * 8 * 8);
}

TEST(CounterRng, IsUniformOverPositionsAndDraws) {
  constexpr uint64_t kCells = 100, kPerCell = 1000;
  std::vector<double> over_positions(kCells, 0), over_draws(kCells, 0);
  CounterRng one(7, 0, 0, 0);
  double sum = 0;
  for (uint64_t i = 0; i < kCells * kPerCell; ++i) {
    CounterRng rng(7, 0, i, 1);
    ++over_positions[rng.below(kCells)];
    ++over_draws[one.below(kCells)];
    const double value = rng.uniform(2, 4);
    ASSERT_GE(value, 2);
    ASSERT_LT(value, 4);
    sum += value;
  }
  EXPECT_NEAR(sum / (kCells * kPerCell), 3, 0.01);  // 5 standard errors
  for (const auto& cells : {over_positions, over_draws}) {
    double chi_square = 0;
    for (const double count : cells) chi_square += (count - kPerCell) * (count - kPerCell);
    EXPECT_LT(chi_square / kPerCell, 99 + 4 * 14.1);  // mean and deviation of 99 degrees
  }
}

}  // namespace
}  // namespace headrace
