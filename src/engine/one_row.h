// One row of an epoch, made on its own: to look at it, and at what was drawn for it.
#pragma once

#include "engine/setup.h"
#include "headrace/batch.h"
#include "plan/epoch_plan.h"

namespace headrace {

struct OneRow {
  std::shared_ptr<Batch> batch;  ///< of one row
  std::string explanation;       ///< JSON
};

/// The row of a planned step, as data sets know it.
RowOrigin origin_of(const Row& row);

/// The row at a position of the epoch that `plan` is of. `mixer` may be nullptr.
Result<OneRow> make_row(const Setup& setup, EpochPlan& plan, const RowMixer* mixer,
                        uint64_t position);

}  // namespace headrace
