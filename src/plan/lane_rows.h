// The rows of lanes as the order of one epoch has them: what buckets and packing begin with.
//
// Ownership: it shares the schedule. Thread-safety: it belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/epoch_lane.h"
#include "plan/epoch_steps.h"
#include "plan/schedule.h"

namespace headrace {

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

class LaneRows {
 public:
  LaneRows(std::shared_ptr<const Schedule> schedule, uint64_t epoch)
      : schedule_(std::move(schedule)), epoch_(epoch) {}

  /// Fills in set, shard and sample of the rows of `run`. Precondition: out.size() == run.count.
  void read(LaneRun run, std::span<Row> out);
  /// What the row's window reads of the block that the row's sample is in.
  BlockPart part_of(const Row& row);

  /// The samples of a lane from `begin` on. Precondition of this and the next: not a mixture.
  void read_samples(uint64_t lane, uint64_t begin, std::span<SampleRef> out);
  /// Where the sample of a lane is in it.
  uint64_t offset(uint64_t lane, SampleRef sample);

 private:
  struct Reader {
    uint64_t epoch;  ///< the set's own
    LaneReader lane;
  };
  /// A lane of a set in the epoch of that set, and an offset in it.
  struct Place {
    uint32_t set;
    LaneReader& reader;
    uint64_t offset;
  };
  LaneReader& reader(uint32_t set, uint64_t lane, uint64_t epoch);
  Place place(uint64_t lane, uint64_t offset);

  std::shared_ptr<const Schedule> schedule_;
  uint64_t epoch_;
  std::unordered_map<uint64_t, Reader> readers_;  ///< by set and lane
  std::vector<SampleRef> samples_;                ///< scratch
};

}  // namespace headrace
