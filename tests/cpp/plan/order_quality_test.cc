// How well the order mixes, measured on the order itself.
#include <cmath>
#include <cstdio>
#include <numeric>
#include <unordered_set>

#include "plan_testing.h"

namespace headrace {
namespace {

/// Standard deviations that a chi-square of `freedom` degrees lies above its mean.
double deviations(double chi_square, double freedom) {
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

/// Chi-square of a table of counts against equal rows and columns.
double independence(const std::vector<double>& cells, size_t rows, size_t columns) {
  std::vector<double> row_sums(rows, 0), column_sums(columns, 0);
  double total = 0;
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      row_sums[r] += cells[r * columns + c];
      column_sums[c] += cells[r * columns + c];
      total += cells[r * columns + c];
    }
  double chi_square = 0;
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      const double expected = row_sums[r] * column_sums[c] / total;
      const double off = cells[r * columns + c] - expected;
      chi_square += off * off / expected;
    }
  return chi_square;
}

TEST(OrderQuality, PositionInTheEpochIsIndependentOfTheShardOverSeedsAndEpochs) {
  // 20 shards of 50, 10 parts of the epoch. Samples of one shard share blocks and so move
  // together; one sample a shard and epoch is looked at, which must be anywhere.
  constexpr uint64_t kShards = 20, kParts = 10, kSamples = 1000;
  const auto table = make_table(std::vector<uint32_t>(kShards, 50), 5);
  std::vector<double> cells(kShards * kParts, 0);
  for (uint64_t seed = 0; seed < 400; ++seed) {
    EpochPlan plan = must(
        EpochPlan::create(single(table, order_options(16, 4, 20, Tail::kPad, seed)), seed % 7));
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      const uint64_t position = plan.position({shard, static_cast<uint32_t>(seed % 50)});
      ++cells[shard * kParts + position * kParts / kSamples];
    }
  }
  EXPECT_LT(deviations(independence(cells, kShards, kParts), (kShards - 1) * (kParts - 1)), 4);
}

TEST(OrderQuality, EveryPairOfShardsMeetsAsNeighboursEquallyOften) {
  // The shard of each row against that of the row before it, one pair a window apart.
  constexpr uint64_t kShards = 12;
  const auto table = make_table(std::vector<uint32_t>(kShards, 60), 4);
  std::vector<double> cells(kShards * kShards, 0);
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    EpochPlan plan =
        must(EpochPlan::create(single(table, order_options(8, 1, 48, Tail::kPad, seed)), seed % 5));
    const uint64_t at = 1 + seed % 700;
    ++cells[plan.row_at(at - 1).shard * kShards + plan.row_at(at).shard];
  }
  // Different shards: all 132 pairs alike. Equal ones are a little rarer or more frequent by the
  // nature of blocks; they are left out.
  double total = 0;
  for (uint64_t a = 0; a < kShards; ++a)
    for (uint64_t b = 0; b < kShards; ++b)
      if (a != b) total += cells[a * kShards + b];
  const double expected = total / (kShards * (kShards - 1));
  double chi_square = 0;
  for (uint64_t a = 0; a < kShards; ++a)
    for (uint64_t b = 0; b < kShards; ++b)
      if (a != b) {
        const double off = cells[a * kShards + b] - expected;
        chi_square += off * off / expected;
      }
  EXPECT_LT(deviations(chi_square, kShards * (kShards - 1) - 1), 4);
}

TEST(OrderQuality, SamplesOfAWindowAreInEveryOrderOfItsPlaces) {
  // Within a window: the offset in the window against the place in its blocks.
  constexpr uint64_t kWindow = 32;
  const auto table = make_table({3200}, 8);
  std::vector<double> cells(kWindow * kWindow, 0);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const auto order = must(Order::create(table, order_options(1, 1, kWindow, Tail::kPad, seed)));
    const EpochLane lane(order, 0, 0);
    for (uint64_t window = 1; window + 1 < lane.windows(); ++window)
      for (uint64_t i = 0; i < kWindow; ++i)
        ++cells[i * kWindow + lane.window_permutation(window)(i)];
  }
  EXPECT_LT(deviations(independence(cells, kWindow, kWindow), (kWindow - 1) * (kWindow - 1)), 4);
}

// ImageNet's shape, sorted: 1,000 classes, one a shard, 110 KB a sample, blocks of 4 MiB.
constexpr uint32_t kClasses = 1000, kClassSamples = 1281, kBlockSamples = 38;
constexpr uint64_t kRanks = 8, kBatch = 2048;

std::shared_ptr<const ShardTable> sorted_by_class() {
  return make_table(std::vector<uint32_t>(kClasses, kClassSamples), kBlockSamples);
}

size_t distinct(const std::vector<Row>& rows) {
  std::unordered_set<uint32_t> classes;
  for (const Row& row : rows) classes.insert(row.shard);
  return classes.size();
}

/// Mean distinct classes in a global batch, over an epoch, with `memory` samples a rank in windows.
double lanes_classes(uint64_t memory, uint64_t lanes) {
  const uint64_t window = memory / (lanes / kRanks);
  EpochPlan plan =
      must(EpochPlan::create(single(sorted_by_class(), order_options(kBatch, lanes, window)), 0));
  double sum = 0;
  for (uint64_t t = 0; t < plan.steps().full_steps(); ++t) {
    std::vector<Row> rows;
    plan.rows(t, {0, kBatch}, rows);
    sum += static_cast<double>(distinct(rows));
  }
  return sum / static_cast<double>(plan.steps().full_steps());
}

/// The same for shuffle buffers, WebDataset's way: shuffled shards are dealt to the ranks, each
/// read in order through a buffer of `memory` samples from which a random one is taken. A batch of
/// a torch DataLoader comes from one of its workers, which has a share of the rank's memory.
double buffer_classes(uint64_t memory) {
  Dice dice(5);
  const Permutation shards(kClasses, 9);
  std::vector<std::vector<Row>> steps(kClasses * kClassSamples / kBatch);
  for (uint64_t rank = 0; rank < kRanks; ++rank) {
    std::vector<Row> buffer;
    uint64_t taken = 0;
    const auto take = [&](size_t at) {
      const uint64_t step = taken++ / (kBatch / kRanks);
      if (step < steps.size()) steps[step].push_back(buffer[at]);
    };
    for (uint64_t i = rank; i < kClasses; i += kRanks)
      for (uint32_t sample = 0; sample < kClassSamples; ++sample) {
        const Row row{.shard = static_cast<uint32_t>(shards(i)), .sample = sample};
        if (buffer.size() < memory) {
          buffer.push_back(row);
          continue;
        }
        const size_t at = dice.below(static_cast<uint32_t>(memory));
        take(at);
        buffer[at] = row;
      }
  }
  double sum = 0;
  uint64_t full = 0;
  for (const auto& rows : steps)
    if (rows.size() == kBatch) {
      sum += static_cast<double>(distinct(rows));
      ++full;
    }
  return sum / static_cast<double>(full);
}

TEST(OrderQuality, OfDataSortedByClassIsNearAUniformDraw) {
  const double uniform = kClasses * (1 - std::pow(1 - 1.0 / kClasses, kBatch));
  const double lanes = lanes_classes(5000, 128);
  const double buffer = buffer_classes(5000);
  const double workers = buffer_classes(5000 / 5);
  const double large_workers = buffer_classes(20'000 / 5);
  std::printf("distinct classes in a batch of %lu, %lu ranks, data sorted by class\n",
              static_cast<unsigned long>(kBatch), static_cast<unsigned long>(kRanks));
  std::printf("  uniform draw                                 %6.0f\n", uniform);
  std::printf("  lanes, 16 a rank, 5,000 samples a rank       %6.0f\n", lanes);
  std::printf("  lanes,  4 a rank, 5,000 samples a rank       %6.0f\n", lanes_classes(5000, 32));
  std::printf("  shuffle buffer, one worker, 5,000 a rank     %6.0f\n", buffer);
  std::printf("  shuffle buffer, 5 workers, 5,000 a rank      %6.0f\n", workers);
  std::printf("  shuffle buffer, 5 workers, 20,000 a rank     %6.0f\n", large_workers);
  EXPECT_NEAR(uniform, 871, 1);
  EXPECT_NEAR(lanes, 643, 20);
  EXPECT_LT(buffer, lanes / 3);
  EXPECT_NEAR(workers, 41, 10);
  EXPECT_NEAR(large_workers, 116, 20);
}

}  // namespace
}  // namespace headrace
