// Packed rows against the simplest thing that could be right: lists of tokens, cut into rows.
#include "plan/row_packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "plan/document_lengths.h"
#include "plan/lane_stream.h"
#include "plan/plan_testing.h"

namespace headrace {
namespace {

using Token = std::tuple<uint64_t, uint64_t, uint64_t>;  // lane, document, its number in there
using Lengths = std::vector<std::vector<uint32_t>>;      // of the documents of each lane
constexpr Token kNothing{~uint64_t{0}, 0, 0};

struct Case {
  Lengths lengths;
  uint64_t lane_rows;  // of a step
  uint64_t length;

  uint64_t lanes() const { return lengths.size(); }
  uint64_t global_batch() const { return lane_rows * lanes(); }
  std::vector<uint64_t> lane_tokens() const {
    std::vector<uint64_t> sums;
    for (const auto& lane : lengths)
      sums.push_back(std::accumulate(lane.begin(), lane.end(), uint64_t{0}));
    return sums;
  }
};

std::vector<Token> tokens_of(const Case& c, uint64_t lane) {
  std::vector<Token> tokens;
  for (uint64_t document = 0; document < c.lengths[lane].size(); ++document)
    for (uint64_t i = 0; i < c.lengths[lane][document]; ++i) tokens.emplace_back(lane, document, i);
  return tokens;
}

/// Row numbers of so many rows, dealt to steps of `places`: each place has a stretch.
std::vector<uint64_t> dealt(uint64_t rows, uint64_t places) {
  std::vector<uint64_t> order;
  std::vector<uint64_t> next, end;
  for (uint64_t place = 0; place < places; ++place) {
    next.push_back(place * rows / places);
    end.push_back((place + 1) * rows / places);
  }
  for (uint64_t step = 0; step < rows / places; ++step)
    for (uint64_t place = 0; place < places; ++place) order.push_back(next[place]++);
  for (uint64_t place = 0; place < places; ++place)
    while (next[place] < end[place]) order.push_back(next[place]++);
  return order;
}

/// The tokens of all rows of an epoch, one row after the other.
std::vector<Token> oracle(const Case& c) {
  std::vector<std::vector<Token>> streams;
  for (uint64_t lane = 0; lane < c.lanes(); ++lane) streams.push_back(tokens_of(c, lane));
  const uint64_t taken = c.lane_rows * c.length;
  std::vector<Token> rows;
  const auto has_step = [&](const auto& stream) { return stream.size() >= taken; };
  while (std::ranges::all_of(streams, has_step))
    for (auto& stream : streams) {
      rows.insert(rows.end(), stream.begin(), stream.begin() + static_cast<long>(taken));
      stream.erase(stream.begin(), stream.begin() + static_cast<long>(taken));
    }
  std::vector<Token> tail;
  for (const auto& stream : streams) tail.insert(tail.end(), stream.begin(), stream.end());
  while (tail.size() % c.length != 0) tail.push_back(kNothing);
  for (const uint64_t row : dealt(tail.size() / c.length, c.global_batch())) {
    const auto begin = tail.begin() + static_cast<long>(row * c.length);
    rows.insert(rows.end(), begin, begin + static_cast<long>(c.length));
  }
  return rows;
}

class Packed {
 public:
  explicit Packed(const Case& c)
      : case_(c), packing_(must(RowPacking::create(c.lane_tokens(), c.global_batch(), c.length))) {
    const auto sums = c.lane_tokens();
    for (uint64_t lane = 0; lane < c.lanes(); ++lane)
      streams_.emplace_back(c.lengths[lane].size(), sums[lane]);
  }

  uint64_t rows() const { return packing_.rows(); }

  /// Rows [row, row + count), and how often each document began in them.
  std::vector<Token> read(uint64_t row, uint64_t count, std::map<Token, int>* begun = nullptr) {
    std::vector<Token> tokens(count * case_.length, kNothing);
    std::vector<LaneStretch> stretches;
    packing_.stretches(row, count, stretches);
    for (const LaneStretch& stretch : stretches) {
      std::vector<TokenPiece> pieces;
      const auto& lane = case_.lengths[stretch.lane];
      const OffsetRange found = streams_[stretch.lane].cut(
          stretch,
          [&](uint64_t begin, std::span<uint32_t> out) {
            std::copy_n(lane.begin() + static_cast<long>(begin), out.size(), out.begin());
          },
          pieces);
      EXPECT_EQ(found.size(), pieces.size());
      for (size_t i = 0; i < pieces.size(); ++i) {
        const uint64_t document = found.begin + i;
        EXPECT_EQ(pieces[i].length, lane[document]);
        if (begun != nullptr && pieces[i].begins()) ++(*begun)[{stretch.lane, document, 0}];
        for (uint64_t k = 0; k < pieces[i].count; ++k) {
          Token& token = tokens.at(pieces[i].to + k);
          EXPECT_EQ(token, kNothing);
          token = {stretch.lane, document, pieces[i].from + k};
        }
      }
    }
    return tokens;
  }

 private:
  const Case& case_;
  RowPacking packing_;
  std::vector<LaneStream> streams_;
};

/// Lengths of all kinds: none, one, exactly a row, many rows; lanes that are much longer.
Case random_case(Dice& dice) {
  Case c{.lengths = {}, .lane_rows = 1 + dice.below(3), .length = 1 + dice.below(12)};
  const uint32_t lanes = 1 + dice.below(5), kind = dice.below(4);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    auto& lengths = c.lengths.emplace_back(dice.below(kind == 0 ? 300 : 40));
    for (uint32_t& length : lengths) {
      length = dice.below(kind == 1 ? 3 : 9);
      if (dice.below(10) == 0) length = static_cast<uint32_t>(c.length);
      if (kind == 3 && dice.below(20) == 0) length = dice.below(200);
    }
  }
  return c;
}

TEST(RowPacking, IsTheTokensOfTheLanesOneAfterTheOtherCutIntoRows) {
  Dice dice(11);
  for (int round = 0; round < 3000; ++round) {
    const Case c = random_case(dice);
    const std::vector<Token> expected = oracle(c);
    std::optional<Packed> packed(std::in_place, c);
    const uint64_t rows = packed->rows();
    ASSERT_EQ(rows * c.length, expected.size());
    ASSERT_EQ(packed->read(0, rows), expected);
    if (rows == 0) continue;
    for (int look = 0; look < 8; ++look) {  // from anywhere, in any order, also from the end
      if (look % 2 == 0) packed.emplace(c);
      const uint64_t row = dice.below(static_cast<uint32_t>(rows));
      const uint64_t count = 1 + dice.below(static_cast<uint32_t>(rows - row));
      const auto begin = expected.begin() + static_cast<long>(row * c.length);
      ASSERT_EQ(packed->read(row, count),
                (std::vector<Token>(begin, begin + static_cast<long>(count * c.length))));
    }
  }
}

TEST(RowPacking, EveryDocumentBeginsOnceAlsoEmptyOnes) {
  Dice dice(12);
  for (int round = 0; round < 1000; ++round) {
    const Case c = random_case(dice);
    const auto sums = c.lane_tokens();
    Packed packed(c);
    std::map<Token, int> begun;
    for (uint64_t row = 0; row < packed.rows();) {
      const uint64_t count =
          std::min<uint64_t>(packed.rows() - row, 1 + dice.below(static_cast<uint32_t>(c.length)));
      packed.read(row, count, &begun);
      row += count;
    }
    for (uint64_t lane = 0; lane < c.lanes(); ++lane)
      for (uint64_t document = 0; document < c.lengths[lane].size(); ++document)
        ASSERT_EQ((begun[{lane, document, 0}]), sums[lane] > 0 ? 1 : 0)
            << "a lane without tokens has no row";
  }
}

TEST(RowPacking, RefusesRowsThatCannotBe) {
  EXPECT_FALSE(RowPacking::create({5, 5}, 4, 0).ok());
  EXPECT_FALSE(RowPacking::create({5, 5}, 4, (uint64_t{1} << 30) + 1).ok());
  EXPECT_FALSE(RowPacking::create({uint64_t{1} << 60, 5}, 4, 8).ok());
  EXPECT_EQ(must(RowPacking::create({0, 0}, 4, 8)).rows(), 0u);
}

uint32_t length_of(const Row& row) { return (row.shard * 31 + row.sample * 17) % 23; }

/// A schedule of packed rows; `kept`: lanes of which lengths are in memory.
std::shared_ptr<const Schedule> packed_schedule(const std::shared_ptr<const ShardTable>& table,
                                                OrderOptions options, LaneRange kept) {
  options.pack_length = 10;
  options.pack_by = "npy:tokens";
  const auto schedule = single(table, options);
  auto lengths = std::make_shared<DocumentLengths>(schedule->order(0), kept);
  for (uint32_t shard = 0; shard < table->size(); ++shard) {
    std::vector<uint32_t> all;
    for (uint32_t sample = 0; sample < table->samples[shard]; ++sample)
      all.push_back(length_of({.shard = shard, .sample = sample}));
    lengths->add(shard, all);
  }
  return must(Schedule::packed(*schedule, std::move(lengths)));
}

EpochPlan packed_plan(const std::shared_ptr<const Schedule>& schedule, uint64_t epoch) {
  EpochPlan plan = must(EpochPlan::create(schedule, epoch));
  plan.set_lengths([](std::span<const Row> rows, std::span<uint64_t> lengths) {
    for (size_t i = 0; i < rows.size(); ++i) lengths[i] = length_of(rows[i]);
  });
  return plan;
}

/// What stands where in the rows of a step: (shard, sample, number of the token, padded).
using Placed = std::vector<std::tuple<uint32_t, uint32_t, uint64_t, bool>>;

Placed tokens_of_step(EpochPlan& plan, uint64_t t, uint64_t world) {
  const uint64_t length = plan.schedule().packing().length();
  const uint64_t rows = plan.steps().step(t).rows;
  Placed placed(rows * length, {~0U, 0, 0, false});
  for (uint64_t rank = 0; rank < world; ++rank) {
    const RowRange range = rank_rows(rows, rank, world);
    std::vector<Row> documents;
    std::vector<TokenPiece> pieces;
    plan.packed_rows(t, range, documents, pieces);
    EXPECT_EQ(documents.size(), pieces.size());
    for (size_t i = 0; i < documents.size(); ++i) {
      const Row& row = documents[i];
      EXPECT_EQ(length_of(row), pieces[i].length);
      Row there = plan.row_at(row.position);
      there.padded = row.padded;
      EXPECT_EQ(there, row);
      for (uint64_t k = 0; k < pieces[i].count; ++k)
        placed.at(range.begin * length + pieces[i].to + k) = {row.shard, row.sample,
                                                              pieces[i].from + k, row.padded};
    }
  }
  return placed;
}

TEST(RowPacking, AnEpochHasEveryTokenOnceOnEveryWorldAndFromEveryStep) {
  const auto table = uneven_table(700, 9, 8, 2);
  uint64_t tokens = 0;
  for (uint32_t shard = 0; shard < table->size(); ++shard)
    for (uint32_t sample = 0; sample < table->samples[shard]; ++sample)
      tokens += length_of({.shard = shard, .sample = sample});
  for (const Tail tail : {Tail::kPad, Tail::kShort, Tail::kDrop})
    for (const uint64_t epoch : {0, 5}) {
      const OrderOptions options = order_options(24, 4, 40, tail);
      const auto schedule = packed_schedule(table, options, {1, 3});
      EXPECT_EQ(schedule->epoch_samples(), 700u);
      EXPECT_EQ(schedule->packing().tokens(), tokens);
      EpochPlan plan = packed_plan(schedule, epoch);
      std::map<std::tuple<uint32_t, uint32_t, uint64_t>, int> seen;
      std::vector<Placed> steps;
      for (uint64_t t = 0; t < plan.steps().steps(); ++t) {
        steps.push_back(tokens_of_step(plan, t, 1));
        for (const auto& [shard, sample, token, padded] : steps.back())
          if (shard != ~0U && !padded) ++seen[{shard, sample, token}];
      }
      EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& token) { return token.second == 1; }));
      const uint64_t full = plan.steps().full_steps() * 24 * 10;
      EXPECT_EQ(seen.size(), tail == Tail::kDrop ? full : tokens);
      for (const uint64_t world : {2, 3, 4, 8})
        for (uint64_t t = plan.steps().steps(); t-- > 0;) {
          EpochPlan fresh = packed_plan(packed_schedule(table, options, {0, 1}), epoch);
          ASSERT_EQ(tokens_of_step(fresh, t, world), steps[t]) << "world " << world;
        }
    }
}

TEST(RowPacking, WithoutShuffleRowsAreTheDataSetsTokensInOrder) {
  OrderOptions options = order_options(6, 1, 40);
  options.shuffle = false;
  const auto table = uneven_table(90, 4, 8, 3);
  EpochPlan plan = packed_plan(packed_schedule(table, options, {0, 1}), 1);
  Placed all;
  for (uint64_t t = 0; t < plan.steps().steps(); ++t) {
    const Placed step = tokens_of_step(plan, t, 1);
    std::ranges::copy_if(step, std::back_inserter(all), [](const auto& token) {
      return std::get<0>(token) != ~0U && !std::get<3>(token);
    });
  }
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(all.size(), plan.schedule().packing().tokens());
}

TEST(RowPacking, GoesWithNeitherMixturesNorBucketsNorAChangedBatch) {
  const auto table = uneven_table(90, 4, 8, 3);
  OrderOptions options = order_options(8, 4, 40);
  options.bucket_steps = 2;
  options.pack_length = 5;
  const auto bucketed = single(table, options);
  auto lengths = std::make_shared<DocumentLengths>(bucketed->order(0), LaneRange{});
  EXPECT_EQ(Schedule::packed(*bucketed, lengths).error().code, Code::kUsage);
  const auto schedule = packed_schedule(table, order_options(8, 4, 40), {});
  EXPECT_EQ(EpochPlan::create(schedule, 0, {{0, 8}, {2, 16}}).error().code, Code::kUsage);
}

}  // namespace
}  // namespace headrace
