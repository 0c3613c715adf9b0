// join: samples of several data sets with the same key become one. The first set gives the order.
// Memory: that of the room. Thread-safety: pure but for reading the inputs.
#pragma once

#include "job/reshape/inputs.h"
#include "job/reshape/rows.h"
#include "job/reshape/spill_sort.h"

namespace headrace {

enum class JoinMissing {
  kError,
  kInner,  ///< samples that a set lacks are left out
  kLeft,   ///< every sample of the first set stays
  kOuter,  ///< and those that it lacks follow, set by set
};

/// Rows of one sample a set (kNoSample: none). Code::kUsage for a key that comes twice in a set.
Result<Rows> join_samples(const Inputs& inputs, JoinMissing missing, const WorkRoom& room);

}  // namespace headrace
