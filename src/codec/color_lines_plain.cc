#include <algorithm>
#include <cmath>

#include "codec/color_lines.h"

namespace headrace {
namespace {

/// Truncated, as torch converts floats to bytes.
uint8_t to_byte(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F)); }

/// torchvision's way from [0, 1] to bytes: 255 only from the very top.
uint8_t unit_to_byte(float value) { return to_byte(value * 255.999F); }

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

}  // namespace

void look_up_line_plain(const uint8_t* in, size_t count, const ByteTable& table, uint8_t* out) {
  for (size_t x = 0; x < count; ++x) out[x] = table[in[x]];
}

void luma_line_plain(const uint8_t* const* rgb, size_t count, uint8_t* out) {
  for (size_t x = 0; x < count; ++x) {
    const float sum = static_cast<float>(rgb[0][x]) * 0.2989F +
                      static_cast<float>(rgb[1][x]) * 0.587F +
                      static_cast<float>(rgb[2][x]) * 0.114F;
    out[x] = to_byte(sum);
  }
}

void mix_line_plain(const uint8_t* values, const uint8_t* others, size_t count, float factor,
                    uint8_t* out) {
  const float rest = 1 - factor;
  for (size_t x = 0; x < count; ++x)
    out[x] = to_byte(static_cast<float>(values[x]) * factor + static_cast<float>(others[x]) * rest);
}

void turn_hue_line_plain(const uint8_t* const* rgb, size_t count, float turn, uint8_t* const* out) {
  constexpr float kUnit = 1.0F / 255.0F;
  for (size_t x = 0; x < count; ++x) {
    const float r = static_cast<float>(rgb[0][x]) * kUnit;
    const float g = static_cast<float>(rgb[1][x]) * kUnit;
    const float b = static_cast<float>(rgb[2][x]) * kUnit;
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
    out[0][x] = unit_to_byte(channel(5, hue6, most, saturation));
    out[1][x] = unit_to_byte(channel(3, hue6, most, saturation));
    out[2][x] = unit_to_byte(channel(1, hue6, most, saturation));
  }
}

void sharpen_line_plain(const uint8_t* const* lines, size_t count, size_t step, float factor,
                        uint8_t* out) {
  const float rest = 1 - factor;
  for (size_t x = 0; x < count; ++x) {
    int sum = 4 * lines[1][x];
    for (size_t i = 0; i < 3; ++i) {
      const uint8_t* here = lines[i] + x;
      sum += *(here - step) + *here + *(here + step);
    }
    const auto value = static_cast<float>(lines[1][x]);
    const float blur = std::nearbyint(static_cast<float>(sum) * static_cast<float>(1.0 / 13.0));
    out[x] = to_byte(value + (blur - value) * rest);
  }
}

}  // namespace headrace
