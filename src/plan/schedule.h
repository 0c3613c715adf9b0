// The Schedule of a run: one data set, or a mixture of several, as rows of steps. The engine asks
// nothing else about order.
//
//   auto schedule = Schedule::create({table}, {.order = options});
//   auto plan = EpochPlan::create(*schedule, epoch);
//   for (t < plan->steps().steps())
//     plan->rows(t, rank_rows(plan->steps().step(t).rows, rank, world), rows);
//
// A mixture's epoch is a stated number of samples, the same for every lane; its sets go on from
// epoch to epoch, each with its own epochs (see Mixture). A set of fewer samples than lanes is
// repeated in whole epochs until every lane has one.
//
// Where documents are packed (see RowPacking), steps() counts packed rows, and `packed_rows`
// gives the documents of some of them as rows, each with its piece. Positions, and row_at, are
// those that documents would have in the same lanes if each were a row.
//
// Ownership: a Schedule shares the shard tables, an EpochPlan shares the Schedule.
// Thread-safety: a Schedule is immutable; an EpochPlan belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "headrace/order.h"
#include "headrace/packing.h"
#include "headrace/result.h"
#include "plan/document_lengths.h"
#include "plan/epoch_lane.h"
#include "plan/epoch_steps.h"
#include "plan/lane_stream.h"
#include "plan/mixture.h"
#include "plan/order.h"
#include "plan/row_packing.h"

namespace headrace {

/// Everything that fixes the content of every step, beside the data sets.
struct ScheduleOptions {
  OrderOptions order;
  std::vector<WeightSegment> weights;  ///< of a mixture; empty: a single data set
  uint64_t epoch_samples = 0;  ///< of a mixture: steps times global batch; 0: until the set that
                               ///< takes longest ends
};

/// One row of a step.
struct Row {
  uint64_t position = 0;  ///< in the epoch; of a padded row: of the row it repeats
  uint64_t offset = 0;    ///< in the lane
  uint32_t lane = 0;
  uint32_t set = 0;     ///< number of the data set
  uint32_t shard = 0;   ///< of the data set
  uint32_t sample = 0;  ///< in the shard
  bool padded = false;
  bool operator==(const Row&) const = default;
};

class Schedule {
 public:
  /// One table a data set. Code::kUsage for options that do not fit the sets or each other.
  static Result<std::shared_ptr<const Schedule>> create(
      const std::vector<std::shared_ptr<const ShardTable>>& sets, ScheduleOptions options);

  /// The same schedule with documents packed as options().order says. Code::kUsage if it is a
  /// mixture or has buckets, or for a length that cannot be. `lengths` are of order(0).
  static Result<std::shared_ptr<const Schedule>> packed(
      const Schedule& schedule, std::shared_ptr<const DocumentLengths> lengths);

  /// With epoch_samples filled in.
  const ScheduleOptions& options() const { return options_; }
  bool is_mixture() const { return mixture_.has_value(); }
  bool is_packed() const { return packing_.has_value(); }
  /// Samples of one epoch over all lanes.
  uint64_t epoch_samples() const;
  /// Rows that its steps have, padding left out: packed ones, else the samples.
  uint64_t epoch_rows() const { return is_packed() ? packing_->rows() : epoch_samples(); }
  size_t sets() const { return sets_.size(); }
  /// The order of a set. A set that was repeated to fill the lanes has repeats() times its samples.
  const std::shared_ptr<const Order>& order(size_t set) const { return sets_[set].order; }
  uint64_t repeats(size_t set) const { return sets_[set].repeats; }
  /// The shard of the data set that a shard of its order is.
  uint32_t data_shard(size_t set, uint32_t shard) const {
    return sets_[set].shards.empty() ? shard : sets_[set].shards[shard];
  }
  /// Precondition: is_mixture().
  const Mixture& mixture() const { return *mixture_; }
  /// Precondition: is_packed().
  const RowPacking& packing() const { return *packing_; }
  const std::shared_ptr<const DocumentLengths>& lengths() const { return lengths_; }

 private:
  struct Set {
    std::shared_ptr<const Order> order;
    uint64_t repeats = 1;
    std::vector<uint32_t> shards;  ///< data shard of each shard of the order; empty: the same
  };

  Schedule() = default;
  static Result<Set> make_set(const std::shared_ptr<const ShardTable>& table,
                              const OrderOptions& options, bool fill_lanes);
  Status check_sets() const;
  uint64_t samples_until_longest_ends() const;

  ScheduleOptions options_;
  std::vector<Set> sets_;
  std::optional<Mixture> mixture_;
  std::optional<RowPacking> packing_;
  std::shared_ptr<const DocumentLengths> lengths_;  ///< of the documents that are packed
};

/// Gives every row the length of its sample. The sample's set, shard and number are filled in.
using ReadLengths = std::function<void(std::span<const Row>, std::span<uint64_t>)>;

class EpochPlan {
 public:
  /// `batches` empty: the schedule's global batch from the start.
  static Result<EpochPlan> create(std::shared_ptr<const Schedule> schedule, uint64_t epoch,
                                  std::vector<BatchSegment> batches = {});

  /// Needed before any row is asked for, if there are buckets or documents are packed.
  void set_lengths(ReadLengths read) { read_lengths_ = std::move(read); }

  const Schedule& schedule() const { return *schedule_; }
  uint64_t epoch() const { return epoch_; }
  const EpochSteps& steps() const { return steps_; }
  /// How many positions there are, one a sample.
  uint64_t positions() const { return positions_.samples(); }
  /// Whether step t takes as much from every lane. Others read what lanes have left.
  bool is_even(uint64_t t) const;

  /// Appends rows [range.begin, range.end) of step t. Preconditions: t < steps().steps(), the range
  /// is in the step; the schedule is not packed.
  void rows(uint64_t t, RowRange range, std::vector<Row>& out);
  /// Appends the documents that packed rows [range.begin, range.end) of step t are made of, and of
  /// each its piece. Preconditions: as above, but the schedule is packed.
  void packed_rows(uint64_t t, RowRange range, std::vector<Row>& documents,
                   std::vector<TokenPiece>& pieces);
  /// The sample at a position of the epoch. Precondition: position < positions().
  Row row_at(uint64_t position);
  /// What the row's window reads of the block that the row's sample is in.
  BlockPart part_of(const Row& row);
  /// The position of a sample of a single data set. Preconditions: not a mixture, no buckets; it
  /// exists.
  uint64_t position(SampleRef sample);

 private:
  EpochPlan(std::shared_ptr<const Schedule> schedule, uint64_t epoch, EpochSteps steps,
            EpochSteps positions)
      : schedule_(std::move(schedule)),
        epoch_(epoch),
        steps_(std::move(steps)),
        positions_(std::move(positions)) {}

  struct Reader {
    uint64_t epoch;  ///< the set's own
    LaneReader lane;
  };
  LaneReader& reader(uint32_t set, uint64_t lane, uint64_t epoch);
  template <typename Append>
  void for_each_part(uint64_t t, RowRange range, Append append) const;
  void append(uint64_t position, uint64_t count, bool padded, std::vector<Row>& out);
  void read(LaneRun run, std::span<Row> out);
  void read_bucketed(LaneRun run, std::span<Row> out);
  void read_single(LaneRun run, std::span<Row> out);
  void read_mixture(LaneRun run, std::span<Row> out);

  std::shared_ptr<const Schedule> schedule_;
  uint64_t epoch_;
  EpochSteps steps_;                              ///< of rows
  EpochSteps positions_;                          ///< of samples: the same, unless rows are packed
  std::unordered_map<uint64_t, Reader> readers_;  ///< by set and lane
  std::vector<SampleRef> samples_;                ///< scratch

  struct Dealt {
    StepBucket bucket;
    std::vector<Row> rows;  ///< of the bucket, in the order of delivery
  };
  const Dealt& dealt(uint64_t lane, uint64_t offset);
  ReadLengths read_lengths_;
  std::unordered_map<uint64_t, Dealt> dealt_;  ///< by lane: the bucket it is in

  void append_documents(const LaneStretch& stretch, bool padded, std::vector<Row>& documents,
                        std::vector<TokenPiece>& pieces);
  LaneStream& stream(uint64_t lane);
  void read_lane_lengths(uint64_t lane, uint64_t begin, std::span<uint32_t> out);
  std::unordered_map<uint64_t, LaneStream> streams_;  ///< by lane
  std::vector<LaneStretch> stretches_;                ///< scratch
};

}  // namespace headrace
