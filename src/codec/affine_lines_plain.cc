#include <algorithm>
#include <cmath>

#include "codec/affine_lines.h"

namespace headrace {
namespace {

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

void warp_pixels_plain(const Warp& warp, int y, int begin, int end, uint8_t* out) {
  const Picture& from = warp.from;
  const auto& m = warp.matrix;
  // Places far outside are all alike; bounded, they fit an int.
  const auto bounded = [](float place, int size) {
    return std::fmin(std::fmax(place, -2.0F), static_cast<float>(size) + 1.0F);
  };
  const Field field{from, warp.fill};
  const float half_width = 0.5F * static_cast<float>(from.width);
  const float half_height = 0.5F * static_cast<float>(from.height);
  const float down = static_cast<float>(y) + 0.5F - half_height;
  for (int x = begin; x < end; ++x, out += from.channels) {
    const float right = static_cast<float>(x) + 0.5F - half_width;
    const float at_x = m[0] * right + m[1] * down + m[2] + half_width - 0.5F;
    const float at_y = m[3] * right + m[4] * down + m[5] + half_height - 0.5F;
    const float bounded_x = bounded(at_x, from.width);
    const float bounded_y = bounded(at_y, from.height);
    if (warp.filter == Interpolation::nearest) {
      nearest(field, bounded_x, bounded_y, out);
    } else {
      bilinear(field, bounded_x, bounded_y, out);
    }
  }
}

}  // namespace headrace
