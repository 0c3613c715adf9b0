#include "codec/box_steps.h"

#include <algorithm>
#include <array>

#include "codec/affine.h"

namespace headrace {
namespace {

Corners clipped(const Corners& box, Size picture) {
  const double width = picture.width;
  const double height = picture.height;
  return {std::clamp(box.left, 0.0, width), std::clamp(box.top, 0.0, height),
          std::clamp(box.right, 0.0, width), std::clamp(box.bottom, 0.0, height)};
}

Corners scaled(const Corners& box, const PictureStep& step) {
  const double across = static_cast<double>(step.full.width) / step.box.width;
  const double down = static_cast<double>(step.full.height) / step.box.height;
  return {(box.left - step.box.left) * across - step.part.left,
          (box.top - step.box.top) * down - step.part.top,
          (box.right - step.box.left) * across - step.part.left,
          (box.bottom - step.box.top) * down - step.part.top};
}

/// As turn_upright turns the pixels; `out` is the size of the upright picture.
Corners turned(const Corners& box, int orientation, Size out) {
  Corners b = box;
  // Those of a picture on its side exchange x and y, and are then mirrored.
  if (orientation >= 5) b = {box.top, box.left, box.bottom, box.right};
  const bool mirrors_x =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool mirrors_y =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  if (mirrors_x) b = {out.width - b.right, b.top, out.width - b.left, b.bottom};
  if (mirrors_y) b = {b.left, out.height - b.bottom, b.right, out.height - b.top};
  return b;
}

Corners warped(const Corners& box, const Affine& affine, Size picture) {
  const auto m = forward_matrix(affine, picture);
  const double centre_x = 0.5 * picture.width;
  const double centre_y = 0.5 * picture.height;
  const std::array<double, 4> xs = {box.left, box.right, box.right, box.left};
  const std::array<double, 4> ys = {box.top, box.top, box.bottom, box.bottom};
  std::array<double, 4> to_x{}, to_y{};
  for (size_t i = 0; i < xs.size(); ++i) {
    const double x = xs[i] - centre_x;
    const double y = ys[i] - centre_y;
    to_x[i] = m[0] * x + m[1] * y + m[2] + centre_x;
    to_y[i] = m[3] * x + m[4] * y + m[5] + centre_y;
  }
  const auto [left, right] = std::ranges::minmax(to_x);
  const auto [top, bottom] = std::ranges::minmax(to_y);
  return {left, top, right, bottom};
}

Corners after(const Corners& box, const PictureStep& step) {
  switch (step.kind) {
    case PictureStep::Kind::scale:
      return scaled(box, step);
    case PictureStep::Kind::turn:
      return turned(box, step.orientation, step.out);
    case PictureStep::Kind::pixels:
      if (const auto* affine = std::get_if<Affine>(&step.action))
        return warped(box, *affine, step.out);
      break;
  }
  return box;
}

}  // namespace

MovedBox move_box(const Corners& box, Size picture, const Geometry& geometry) {
  Corners whole = box;
  Corners left = clipped(box, picture);
  for (size_t i = 0; i < geometry.count; ++i) {
    whole = after(whole, geometry.steps[i]);
    left = clipped(after(left, geometry.steps[i]), geometry.steps[i].out);
  }
  constexpr int kMirrored = 2;
  if (geometry.mirror) left = turned(left, kMirrored, geometry.size);
  return {left, whole.area() > 0 ? left.area() / whole.area() : 0};
}

}  // namespace headrace
