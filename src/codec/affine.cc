#include "codec/affine.h"

#include <cmath>
#include <numbers>

#include "codec/affine_lines.h"

namespace headrace {
namespace {

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

/// Turn and shears, without scale and places: {a, b, c, d} for (a x + b y, c x + d y).
std::array<double, 4> turn_and_shear(const Affine& affine) {
  const double turn = radians(affine.degrees);
  const double shear_x = radians(affine.shear_x);
  const double shear_y = radians(affine.shear_y);
  const double cosine = std::cos(turn - shear_y) / std::cos(shear_y);
  const double sine = std::sin(turn - shear_y) / std::cos(shear_y);
  return {cosine, -cosine * std::tan(shear_x) - std::sin(turn), sine,
          -sine * std::tan(shear_x) + std::cos(turn)};
}

/// The fixed point, from the picture's centre.
std::array<double, 2> fixed_point(const Affine& affine, Size picture) {
  if (!affine.around_corner) return {0, 0};
  return {-0.5 * picture.width, -0.5 * picture.height};
}

}  // namespace

std::array<double, 6> inverse_matrix(const Affine& affine, Size picture) {
  const auto [a, b, c, d] = turn_and_shear(affine);
  const auto [fixed_x, fixed_y] = fixed_point(affine, picture);
  const std::array<double, 4> m = {d / affine.scale, -b / affine.scale, -c / affine.scale,
                                   a / affine.scale};
  const double x = -fixed_x - affine.move_x;
  const double y = -fixed_y - affine.move_y;
  return {m[0], m[1], m[0] * x + m[1] * y + fixed_x, m[2], m[3], m[2] * x + m[3] * y + fixed_y};
}

std::array<double, 6> forward_matrix(const Affine& affine, Size picture) {
  const auto [a, b, c, d] = turn_and_shear(affine);
  const auto [fixed_x, fixed_y] = fixed_point(affine, picture);
  const double s = affine.scale;
  return {s * a, s * b, fixed_x + affine.move_x - s * (a * fixed_x + b * fixed_y),
          s * c, s * d, fixed_y + affine.move_y - s * (c * fixed_x + d * fixed_y)};
}

Picture warped(const Picture& from, const Affine& affine, ReusedBuffer& into) {
  const size_t stride = static_cast<size_t>(from.width) * static_cast<size_t>(from.channels);
  uint8_t* out = into.take_pixels(stride * static_cast<size_t>(from.height));
  Warp warp{from, {}, affine.filter, affine.fill};
  const auto exact = inverse_matrix(affine, {from.height, from.width});
  for (size_t i = 0; i < exact.size(); ++i) warp.matrix[i] = static_cast<float>(exact[i]);
  for (int y = 0; y < from.height; ++y) warp_line(warp, y, out + static_cast<size_t>(y) * stride);
  return {out, from.width, from.height, from.channels, stride};
}

}  // namespace headrace
