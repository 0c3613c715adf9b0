// MixRows asks for mixup and cutmix: rows of a batch are mixed with their neighbours, and so are
// their labels. Plain data.
//
// Rows are mixed inside groups of consecutive rows of the step, those of one lane, so that a step's
// content does not depend on the number of ranks: row i of a group with row i - 1, row 0 with the
// last. A group's draws are a pure function of (seed, epoch, position of its first row).
#pragma once

#include <cstdint>
#include <string>

namespace headrace {

struct MixRows {
  std::string image;  ///< the column of pictures, of one size
  std::string label;  ///< the column of classes; becomes float32 (rows, classes)
  int64_t classes = 0;
  double mixup_alpha = 0;   ///< of the Beta distribution; 0: no mixup
  double cutmix_alpha = 0;  ///< 0: no cutmix; with both, each group draws which
  double probability = 1;   ///< that a group is mixed at all
  bool operator==(const MixRows&) const = default;
};

}  // namespace headrace
