// What masks and boxes share: of the recipe of the picture that they go with, the operations that
// move pixels.
#pragma once

#include <vector>

#include "headrace/image_ops.h"
#include "headrace/result.h"

namespace headrace {

/// The operations without those on a finished row, which are the last ones, so that the others keep
/// their numbers and with them what is drawn. Code::kUsage says what is wrong with them.
Result<std::vector<ImageOp>> moving_ops(const std::vector<ImageOp>& ops);

}  // namespace headrace
