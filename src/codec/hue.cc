#include "codec/hue.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace headrace {
namespace {

/// Three planes of floats. The loops over them have no branch, so the compiler makes vectors.
struct Planes {
  float* r;
  float* g;
  float* b;
};

/// Channel number `n` (red 5, green 3, blue 1) of a colour: it follows the hue up and down in a
/// trapezium between value and value - chroma.
///
///   1 |   ____
///     |  /    \                  Smith, "Color Gamut Transform Pairs", 1978, in the form that
///   0 |_/      \__  k = 0 … 6    needs no cases
float channel(float n, float hue6, float value, float saturation) {
  float k = n + hue6;
  k = k >= 6 ? k - 6 : k;
  const float up = std::min(std::min(k, 4 - k), 1.0F);
  return value - value * saturation * std::max(up, 0.0F);
}

void turn_planes(Planes p, size_t count, float turn) {
  for (size_t i = 0; i < count; ++i) {
    const float r = p.r[i], g = p.g[i], b = p.b[i];
    const float most = std::max(std::max(r, g), b);
    const float range = most - std::min(std::min(r, g), b);
    const float divisor = range == 0 ? 1 : range;
    const float rc = (most - r) / divisor;
    const float gc = (most - g) / divisor;
    const float bc = (most - b) / divisor;
    const float from_green = most == g ? 2 + rc - bc : 4 + gc - rc;
    float hue = (most == r ? bc - gc : from_green) * (1.0F / 6.0F) + turn;
    hue -= std::floor(hue);
    const float saturation = range / (range == 0 ? 1 : most);
    const float hue6 = std::min(hue * 6, 5.9999995F);
    p.r[i] = channel(5, hue6, most, saturation);
    p.g[i] = channel(3, hue6, most, saturation);
    p.b[i] = channel(1, hue6, most, saturation);
  }
}

/// torchvision's way from [0, 1] to bytes: 255 only from the very top.
uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::clamp(value * 255.999F, 0.0F, 255.0F));
}

}  // namespace

void turn_hue(const uint8_t* in, int width, int channels, float turn, std::vector<float>& planes,
              uint8_t* out) {
  const auto count = static_cast<size_t>(width);
  const auto step = static_cast<size_t>(channels);
  if (planes.size() < 3 * count) planes.resize(3 * count);
  const Planes p{planes.data(), planes.data() + count, planes.data() + 2 * count};
  constexpr float kUnit = 1.0F / 255.0F;
  for (size_t i = 0; i < count; ++i) {
    p.r[i] = static_cast<float>(in[step * i]) * kUnit;
    p.g[i] = static_cast<float>(in[step * i + 1]) * kUnit;
    p.b[i] = static_cast<float>(in[step * i + 2]) * kUnit;
  }
  turn_planes(p, count, turn);
  for (size_t i = 0; i < count; ++i) {
    out[step * i] = to_byte(p.r[i]);
    out[step * i + 1] = to_byte(p.g[i]);
    out[step * i + 2] = to_byte(p.b[i]);
    if (step == 4) out[step * i + 3] = in[step * i + 3];
  }
}

}  // namespace headrace
