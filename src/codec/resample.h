// Antialiased bilinear scaling, equal to Pillow's BILINEAR byte for byte on gray and RGB. (Since
// version 13 Pillow goes down the columns first where the height shrinks much more than the width;
// there the last rounding differs, by 1 at most.)
//
// A triangle filter as wide as the reduction, separable: along the lines first, then down the
// columns, with the result rounded to 8 bits between the two passes; weights are fixed-point
// numbers of 22 bits. The method is that of Graphics Gems III, "Filtered Image Rescaling"; widths,
// rounding and order of the passes are Pillow's, so that a recipe gives the pixels it gave there.
// Alpha is scaled like any other channel.
#pragma once

#include "codec/geometry.h"
#include "codec/picture.h"
#include "codec/scratch.h"

namespace headrace {

/// Scales the picture to `out`. The result lies in `into`, or is `from` itself if the size is the
/// same. Precondition: no side of either is 0.
Picture resize_bilinear(const Picture& from, Size out, ReusedBuffer& into,
                        Scratch::Buffers& scratch);

}  // namespace headrace
