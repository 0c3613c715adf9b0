// Erasing a box of a finished row.
#pragma once

#include "codec/geometry.h"

namespace headrace {

/// Overwrites `box` of a row of `channels` x `size` numbers of `dtype` (uint8 or a float) with
/// `values`, one for each channel or one for all.
void erase_box(std::byte* row, DType dtype, Layout layout, Size size, int channels, const Box& box,
               const std::vector<double>& values);

}  // namespace headrace
