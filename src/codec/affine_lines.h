// The inner loop of an affine picture, over one line of the result. The plain version defines the
// result; the vector version chooses the machine's best instructions when it runs and gives the
// same bytes: both take the same steps, each rounded to f32.
#pragma once

#include <array>

#include "codec/picture.h"
#include "codec/pixel_draws.h"

namespace headrace {

/// Where the pixels of a result come from. The result has the picture's size.
struct Warp {
  Picture from;
  std::array<float, 6> matrix;  ///< from a place in the result to one in the source
  Interpolation filter = Interpolation::nearest;
  Fill fill = {};
};

/// Pixels [begin, end) of line `y`; `out` is where the first of them goes.
void warp_pixels_plain(const Warp& warp, int y, int begin, int end, uint8_t* out);

/// Line `y` of the result.
void warp_line(const Warp& warp, int y, uint8_t* out);

}  // namespace headrace
