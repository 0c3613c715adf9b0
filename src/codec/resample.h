// Scaling, equal byte for byte to Pillow's filter of the same name on gray and RGB. (Pillow 12.3
// and 13 go down the columns first where the height shrinks much more than the width; there the
// roundings between differ.)
//
// Separable: along the lines first, then down the columns, with the result rounded to 8 bits
// between the two passes. Only what the asked part of the result needs is computed. Alpha is scaled
// like any other channel.
#pragma once

#include <optional>

#include "codec/geometry.h"
#include "codec/picture.h"
#include "codec/scratch.h"

namespace headrace {

/// What becomes what: a picture of size `from`, or what `inner` is of it, becomes one of size `to`,
/// of which `part` is wanted.
struct Scaling {
  Size from;
  Size to;
  Box part;
  Interpolation filter = Interpolation::bilinear;
  std::optional<Region> inner = {};
};

/// The box of the picture that the wanted part is made from.
Box resize_source(const Scaling& scaling);

/// Where a picture begins in a larger one.
struct Corner {
  int top = 0;
  int left = 0;
};

/// The wanted part. `picture` is the part of the picture that begins at `corner` and holds at least
/// resize_source. The result lies in `into`, or in `picture` if the size stays the same.
Picture resize(const Picture& picture, Corner corner, const Scaling& scaling, ReusedBuffer& into,
               Scratch::Buffers& scratch);

}  // namespace headrace
