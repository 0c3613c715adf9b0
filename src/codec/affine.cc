#include "codec/affine.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

/// A picture seen as one that goes on for ever.
struct Field {
  const Picture& picture;
  const Fill& fill;

  /// nullptr outside of the picture.
  const uint8_t* at(int x, int y) const {
    const bool inside = x >= 0 && y >= 0 && x < picture.width && y < picture.height;
    if (!inside) return nullptr;
    return picture.line(y) + static_cast<size_t>(x) * static_cast<size_t>(picture.channels);
  }
};

void nearest(const Field& field, float x, float y, uint8_t* out) {
  const uint8_t* pixel =
      field.at(static_cast<int>(std::nearbyint(x)), static_cast<int>(std::nearbyint(y)));
  std::copy_n(pixel == nullptr ? field.fill.data() : pixel, field.picture.channels, out);
}

void bilinear(const Field& field, float x, float y, uint8_t* out) {
  const float left = std::floor(x);
  const float top = std::floor(y);
  const float right_share = x - left;
  const float down_share = y - top;
  const int ix = static_cast<int>(left);
  const int iy = static_cast<int>(top);
  const std::array<const uint8_t*, 4> pixels = {field.at(ix, iy), field.at(ix + 1, iy),
                                                field.at(ix, iy + 1), field.at(ix + 1, iy + 1)};
  const std::array<float, 4> shares = {(1 - right_share) * (1 - down_share),
                                       right_share * (1 - down_share),
                                       (1 - right_share) * down_share, right_share * down_share};
  float inside = 0;
  std::array<float, 4> sums{};
  for (size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] == nullptr) continue;
    inside += shares[i];
    for (int c = 0; c < field.picture.channels; ++c)
      sums[static_cast<size_t>(c)] += static_cast<float>(pixels[i][c]) * shares[i];
  }
  // At the border torchvision weighs the picture, which is 0 outside, by its share once more.
  for (size_t c = 0; c < static_cast<size_t>(field.picture.channels); ++c) {
    const auto fill = static_cast<float>(field.fill[c]);
    out[c] = static_cast<uint8_t>(std::nearbyint((sums[c] - fill) * inside + fill));
  }
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
  auto* out =
      reinterpret_cast<uint8_t*>(into.take(stride * static_cast<size_t>(from.height)).data());
  const Picture result{out, from.width, from.height, from.channels, stride};
  const auto exact = inverse_matrix(affine, {from.height, from.width});
  std::array<float, 6> m;
  for (size_t i = 0; i < m.size(); ++i) m[i] = static_cast<float>(exact[i]);
  // Places far outside are all alike; bounded, they fit an int.
  const auto bounded = [](float place, int size) {
    return std::fmin(std::fmax(place, -2.0F), static_cast<float>(size) + 1.0F);
  };
  const Field field{from, affine.fill};
  const float half_width = 0.5F * static_cast<float>(from.width);
  const float half_height = 0.5F * static_cast<float>(from.height);
  for (int y = 0; y < from.height; ++y) {
    const float down = static_cast<float>(y) + 0.5F - half_height;
    for (int x = 0; x < from.width; ++x, out += from.channels) {
      const float right = static_cast<float>(x) + 0.5F - half_width;
      const float at_x = m[0] * right + m[1] * down + m[2] + half_width - 0.5F;
      const float at_y = m[3] * right + m[4] * down + m[5] + half_height - 0.5F;
      const float bounded_x = bounded(at_x, from.width);
      const float bounded_y = bounded(at_y, from.height);
      if (affine.filter == Interpolation::nearest) {
        nearest(field, bounded_x, bounded_y, out);
      } else {
        bilinear(field, bounded_x, bounded_y, out);
      }
    }
  }
  return result;
}

}  // namespace headrace
