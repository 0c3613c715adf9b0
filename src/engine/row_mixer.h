// Mixes the rows of finished batches (headrace/mix_rows.h), as torchvision's MixUp and CutMix do
// with a whole batch, group by group.
//
//   rows of a step   | lane 0      | lane 1      | lane 2      | …      a group each
//   rank 0 of 2      |<------------------------->|                      whole groups alone
//
// Thread-safety: immutable.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "engine/row_filler.h"
#include "engine/slot_pool.h"
#include "headrace/batch.h"
#include "headrace/mix_rows.h"

namespace headrace {

/// What is drawn for a group.
struct MixDraw {
  enum class Kind : uint8_t { none, mixup, cutmix };
  Kind kind = Kind::none;
  double lambda = 1;    ///< share of the row itself, as drawn
  double centre_x = 0;  ///< cutmix: of the box, a share of the width and of the height
  double centre_y = 0;
};

/// Where a rank's rows lie in their step.
struct StepPlace {
  uint64_t first_row = 0;       ///< of the rank
  uint64_t first_position = 0;  ///< of the step's row 0
};

class RowMixer {
 public:
  /// Code::kUsage if the columns are not there or not of the right kind, or if a rank's rows would
  /// cut a group. `group`: rows of one lane in a step.
  static Result<RowMixer> create(const MixRows& options, const std::vector<ColumnPlan>& columns,
                                 uint64_t group, uint64_t seed, uint32_t world);

  uint64_t group() const { return group_; }
  MixDraw draw(uint64_t epoch, uint64_t first_position) const;

  /// Mixes the batch in place. `original`: each row's number among the rank's, before bad rows were
  /// left out. New columns lie in `slots`.
  Status mix(Batch& batch, const StepPlace& place, std::span<const uint32_t> original,
             SlotPool& pool, std::vector<std::shared_ptr<const Slot>>& slots) const;

 private:
  RowMixer(MixRows options, size_t image, size_t label, Layout layout, uint64_t group,
           uint64_t seed)
      : options_(std::move(options)),
        image_(image),
        label_(label),
        layout_(layout),
        group_(group),
        seed_(seed) {}

  struct Group {
    size_t begin;
    size_t end;
    MixDraw draw;
    double lambda;  ///< as applied
  };
  Group group_of(const Batch& batch, const StepPlace& place, std::span<const uint32_t> original,
                 size_t begin) const;
  Status mix_labels(Batch& batch, std::span<const Group> groups, SlotPool& pool,
                    std::vector<std::shared_ptr<const Slot>>& slots) const;

  MixRows options_;
  size_t image_;
  size_t label_;
  Layout layout_;
  uint64_t group_;
  uint64_t seed_;
};

}  // namespace headrace
