// Boxes through the steps of a Geometry: where a box of a picture's pixels comes to lie. Pure
// functions.
#pragma once

#include <optional>

#include "codec/geometry.h"

namespace headrace {

/// Corners, in pixels from the picture's upper left corner; pixel (0, 0) is the square from 0 to 1.
struct Corners {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  double area() const { return (right - left) * (bottom - top); }
};

struct MovedBox {
  Corners corners;     ///< clipped to the picture after each step
  double visible = 0;  ///< the share of the whole box's area that this is; 0 of a box without area
};

/// The box of a picture of size `picture` after all steps. What is turned by other than right
/// angles is the smallest box around it.
MovedBox move_box(const Corners& box, Size picture, const Geometry& geometry);

}  // namespace headrace
