// select: which samples stay, in their order. All conditions that are given must hold.
// Memory: a bit a sample, and the list of keys. Thread-safety: pure but for reading the inputs.
#pragma once

#include <string>
#include <vector>

#include "headrace/selection.h"
#include "job/reshape/inputs.h"
#include "job/reshape/rows.h"
#include "job/reshape/spill_sort.h"

namespace headrace {

struct SelectOptions {
  std::string keys;   ///< a file of keys, one a line
  std::string regex;  ///< found in the key
  std::string where;  ///< an Expression
  HashRange share;    ///< of the keys, by hash: the same keys as when opening
  bool invert = false;
};

/// The numbers of the samples that stay.
Result<Rows> select_samples(const Inputs& inputs, const SelectOptions& options,
                            const WorkRoom& room);

}  // namespace headrace
