// The steps of one epoch as arithmetic: which lane offsets each row of each step is. No data set is
// needed, only how many samples the lanes have together.
//
//   lane offset   0       o1                 end
//   lane 0        |. . . .|. . . . . .|. . . .|x      step t takes the next G/L offsets of every
//   lane 1        |. . . .|. . . . . .|. . . .|       lane, in lane order; what is left (x) makes
//   lane 2        |. . . .|. . . . . .|. . . .|x      the tail step
//                  step 0   step 1 …
//
// An epoch may change its global batch on the way (a run that was resumed with another one): it is
// a list of batch segments. A row's position in the epoch counts the rows as they were delivered.
//
// Thread-safety: immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "headrace/order.h"
#include "headrace/result.h"

namespace headrace {

/// From lane offset `from` on, a step has `total` rows.
struct BatchSegment {
  uint64_t from = 0;
  uint64_t total = 0;
  bool operator==(const BatchSegment&) const = default;
};

/// One step over all ranks.
struct Step {
  uint64_t rows = 0;            ///< with padding
  uint64_t samples = 0;         ///< without
  uint64_t first_position = 0;  ///< of row 0
  uint64_t total = 0;           ///< G: rows of a full step
};

/// Consecutive positions that are consecutive offsets of one lane.
struct LaneRun {
  uint64_t lane = 0;
  uint64_t offset = 0;
  uint64_t count = 0;
};

/// Consecutive full steps as offsets of every lane.
struct StepBucket {
  uint64_t begin = 0;  ///< lane offsets [begin, end)
  uint64_t end = 0;
  uint64_t share = 1;  ///< offsets a step
};

class EpochSteps {
 public:
  /// Code::kUsage if the segments do not fit: the first must begin at 0, each total be a multiple
  /// of `lanes`, each begin after whole steps of the one before and inside the epoch.
  static Result<EpochSteps> create(uint64_t samples, uint64_t lanes, Tail tail,
                                   std::vector<BatchSegment> segments);

  uint64_t samples() const { return samples_; }
  uint64_t lanes() const { return lanes_; }
  Tail tail() const { return tail_; }
  const std::vector<BatchSegment>& segments() const { return segments_; }

  /// Steps of the whole epoch, the same on every rank.
  uint64_t steps() const { return full_steps_ + (tail_rows_ > 0 ? 1 : 0); }
  /// Precondition: t < steps().
  Step step(uint64_t t) const;
  /// Samples in no full step; rows of the tail step (0: there is none).
  uint64_t tail_samples() const { return tail_samples_; }
  uint64_t tail_rows() const { return tail_rows_; }

  /// The lane offset before full step t. Precondition: t <= full steps.
  uint64_t offset_before(uint64_t t) const;
  uint64_t full_steps() const { return full_steps_; }
  /// The step that begins at a lane offset. Code::kUsage if none does.
  Result<uint64_t> step_at(uint64_t offset) const;

  /// The bucket of an offset, if every `steps` steps from where a batch segment begins are one; the
  /// segment's last one may be shorter. Precondition: offset < offset_before(full_steps()).
  StepBucket bucket(uint64_t offset, uint64_t steps) const;

  /// The lane and offset of a position and how far they go on together. Precondition: position <
  /// samples().
  LaneRun run(uint64_t position) const;
  /// The other way round. Precondition: there is such an offset in that lane.
  uint64_t position(uint64_t lane, uint64_t offset) const;

 private:
  EpochSteps(uint64_t samples, uint64_t lanes, Tail tail, std::vector<BatchSegment> segments);

  uint64_t lane_begin(uint64_t lane) const;
  /// Samples of lanes [0, lane) that are left for the tail.
  uint64_t tail_before(uint64_t lane) const { return lane_begin(lane) - lane * full_offset_; }
  const BatchSegment& segment_of_offset(uint64_t offset) const;

  uint64_t samples_;
  uint64_t lanes_;
  Tail tail_;
  std::vector<BatchSegment> segments_;
  std::vector<uint64_t> steps_before_;  ///< of each segment
  uint64_t full_steps_ = 0;
  uint64_t full_offset_ = 0;  ///< lane offset after the last full step
  uint64_t tail_samples_ = 0;
  uint64_t tail_rows_ = 0;
};

}  // namespace headrace
