// zip: samples of several data sets at the same position become one. The first that there is gives
// the key. Thread-safety: pure.
#pragma once

#include "job/reshape/join.h"

namespace headrace {

/// Rows of one sample a set (kNoSample: it has no such position). kInner ends with the shortest
/// set, kLeft with the first, kOuter with the longest; kError refuses sets of several lengths.
Result<Rows> zip_samples(const Inputs& inputs, JoinMissing missing, const WorkRoom& room);

}  // namespace headrace
