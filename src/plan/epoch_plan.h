// The rows of one epoch's steps. The engine asks nothing else about order.
//
//   auto schedule = Schedule::create({table}, {.order = options});
//   auto plan = EpochPlan::create(*schedule, epoch);
//   for (t < plan->steps().steps())
//     plan->rows(t, rank_rows(plan->steps().step(t).rows, rank, world), rows);
//
// Where documents are packed (see RowPacking), steps() counts packed rows, and `packed_rows`
// gives the documents of some of them as rows, each with its piece. Positions, and row_at, are
// those that documents would have in the same lanes if each were a row.
//
// Ownership: it shares the schedule. Thread-safety: it belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headrace/order.h"
#include "headrace/packing.h"
#include "headrace/result.h"
#include "plan/epoch_steps.h"
#include "plan/lane_rows.h"
#include "plan/lane_stream.h"
#include "plan/schedule.h"

namespace headrace {

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
  BlockPart part_of(const Row& row) { return lane_rows_.part_of(row); }
  /// The position of a sample of a single data set. Preconditions: not a mixture, no buckets; it
  /// exists.
  uint64_t position(SampleRef sample);

 private:
  EpochPlan(std::shared_ptr<const Schedule> schedule, uint64_t epoch, EpochSteps steps,
            EpochSteps positions)
      : schedule_(std::move(schedule)),
        epoch_(epoch),
        steps_(std::move(steps)),
        positions_(std::move(positions)),
        lane_rows_(schedule_, epoch) {}

  template <typename Append>
  void for_each_part(uint64_t t, RowRange range, Append append) const;
  void append(uint64_t position, uint64_t count, bool padded, std::vector<Row>& out);
  void read_bucketed(LaneRun run, std::span<Row> out);

  std::shared_ptr<const Schedule> schedule_;
  uint64_t epoch_;
  EpochSteps steps_;      ///< of rows
  EpochSteps positions_;  ///< of samples: the same, unless rows are packed
  LaneRows lane_rows_;

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
  std::vector<LaneStretch> stretches_;                ///< scratch, as the next
  std::vector<SampleRef> samples_;
};

}  // namespace headrace
