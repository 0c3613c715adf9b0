#include "codec/pixel_ops.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "codec/hue.h"

namespace headrace {
namespace {

using What = Adjust::What;
using Table = std::array<uint8_t, 256>;

/// Truncated, as torch converts floats to bytes.
uint8_t to_byte(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F)); }

/// torchvision's luma: its weights, truncated to a whole number.
float luma(const uint8_t* rgb) {
  const float sum = static_cast<float>(rgb[0]) * 0.2989F + static_cast<float>(rgb[1]) * 0.587F +
                    static_cast<float>(rgb[2]) * 0.114F;
  return std::floor(sum);
}

int colors_of(const Picture& picture) { return picture.channels >= 3 ? 3 : 1; }

struct Target {
  uint8_t* pixels;
  Picture picture;
  uint8_t* line(int y) const { return pixels + static_cast<size_t>(y) * picture.stride; }
};

Target target_like(const Picture& from, ReusedBuffer& into) {
  const size_t stride = static_cast<size_t>(from.width) * static_cast<size_t>(from.channels);
  auto* pixels =
      reinterpret_cast<uint8_t*>(into.take(stride * static_cast<size_t>(from.height)).data());
  return {pixels, {pixels, from.width, from.height, from.channels, stride}};
}

/// out = pixel(in) for every pixel; what it does not write (alpha) is copied first.
template <typename Pixel>
Picture each_pixel(const Picture& from, ReusedBuffer& into, Pixel pixel) {
  const Target out = target_like(from, into);
  const auto channels = static_cast<size_t>(from.channels);
  for (int y = 0; y < from.height; ++y) {
    const uint8_t* in = from.line(y);
    uint8_t* to = out.line(y);
    if (channels == 2 || channels == 4) std::copy(in, in + out.picture.stride, to);
    for (int x = 0; x < from.width; ++x, in += channels, to += channels) pixel(in, to);
  }
  return out.picture;
}

template <typename Function>
Table table_of(Function f) {
  Table table;
  for (size_t v = 0; v < table.size(); ++v) table[v] = f(static_cast<int>(v));
  return table;
}

/// A look-up a channel; one table may serve all.
Picture look_up(const Picture& from, ReusedBuffer& into, const std::array<Table, 3>& tables) {
  if (colors_of(from) == 1)
    return each_pixel(from, into,
                      [&](const uint8_t* in, uint8_t* out) { out[0] = tables[0][in[0]]; });
  return each_pixel(from, into, [&](const uint8_t* in, uint8_t* out) {
    for (size_t c = 0; c < 3; ++c) out[c] = tables[c][in[c]];
  });
}

Picture look_up(const Picture& from, ReusedBuffer& into, const Table& table) {
  return look_up(from, into, {table, table, table});
}

/// value * factor + other * (1 - factor), as torchvision blends.
uint8_t blend(float value, float other, float factor, float rest) {
  return to_byte(value * factor + other * rest);
}

Picture contrast(const Picture& from, float factor, ReusedBuffer& into) {
  double sum = 0;
  for (int y = 0; y < from.height; ++y) {
    const uint8_t* line = from.line(y);
    for (int x = 0; x < from.width; ++x, line += from.channels)
      sum += static_cast<double>(from.channels >= 3 ? luma(line) : static_cast<float>(line[0]));
  }
  const auto mean = static_cast<float>(sum / (static_cast<double>(from.width) * from.height));
  const float rest = 1 - factor;
  return look_up(from, into,
                 table_of([&](int v) { return blend(static_cast<float>(v), mean, factor, rest); }));
}

Picture saturation(const Picture& from, float factor, ReusedBuffer& into) {
  if (colors_of(from) == 1) return from;
  const float rest = 1 - factor;
  return each_pixel(from, into, [&](const uint8_t* in, uint8_t* out) {
    const float gray = luma(in);
    for (size_t c = 0; c < 3; ++c) out[c] = blend(static_cast<float>(in[c]), gray, factor, rest);
  });
}

Picture grayscale(const Picture& from, ReusedBuffer& into) {
  if (colors_of(from) == 1) return from;
  return each_pixel(from, into, [](const uint8_t* in, uint8_t* out) {
    std::fill(out, out + 3, static_cast<uint8_t>(luma(in)));
  });
}

/// Against a blur of 3 x 3; the border stays.
Picture sharpness(const Picture& from, float factor, ReusedBuffer& into) {
  if (from.width <= 2 || from.height <= 2) return from;
  const Target out = target_like(from, into);
  const auto step = static_cast<size_t>(from.channels);
  const auto colors = static_cast<size_t>(colors_of(from));
  const float rest = 1 - factor;
  for (int y = 0; y < from.height; ++y) {
    const uint8_t* line = from.line(y);
    uint8_t* to = out.line(y);
    std::copy(line, line + out.picture.stride, to);
    if (y == 0 || y == from.height - 1) continue;
    const uint8_t* above = from.line(y - 1);
    const uint8_t* below = from.line(y + 1);
    for (size_t at = step; at < out.picture.stride - step; ++at) {
      if (at % step >= colors) continue;
      int around = 0;
      for (const uint8_t* l : {above, line, below}) around += l[at - step] + l[at] + l[at + step];
      const int value = line[at];
      const float blur =
          std::nearbyint(static_cast<float>(around + 4 * value) * static_cast<float>(1.0 / 13.0));
      to[at] = to_byte(static_cast<float>(value) + (blur - static_cast<float>(value)) * rest);
    }
  }
  return out.picture;
}

using Histogram = std::array<uint32_t, 256>;

std::array<Histogram, 3> histograms(const Picture& from) {
  std::array<Histogram, 3> counts{};
  const auto colors = static_cast<size_t>(colors_of(from));
  for (int y = 0; y < from.height; ++y) {
    const uint8_t* line = from.line(y);
    for (int x = 0; x < from.width; ++x, line += from.channels)
      for (size_t c = 0; c < colors; ++c) ++counts[c][line[c]];
  }
  return counts;
}

Table stretched(const Histogram& counts) {
  const auto is_used = [](uint32_t n) { return n > 0; };
  const auto low = std::find_if(counts.begin(), counts.end(), is_used) - counts.begin();
  const auto high = 255 - (std::find_if(counts.rbegin(), counts.rend(), is_used) - counts.rbegin());
  if (low >= high) return table_of([](int v) { return static_cast<uint8_t>(v); });
  const float scale = static_cast<float>(high - low) * static_cast<float>(1.0 / 255.0);
  return table_of(
      [&](int v) { return to_byte((static_cast<float>(v) - static_cast<float>(low)) / scale); });
}

Table equalized(const Histogram& counts) {
  uint64_t pixels = 0;
  uint64_t last = 0;
  for (const uint32_t n : counts) {
    pixels += n;
    if (n > 0) last = n;
  }
  const uint64_t step = (pixels - last) / 255;
  if (step == 0) return table_of([](int v) { return static_cast<uint8_t>(v); });
  uint64_t below = step / 2;
  return table_of([&](int v) {
    const uint64_t value = std::min<uint64_t>(below / step, 255);
    below += counts[static_cast<size_t>(v)];
    return static_cast<uint8_t>(value);
  });
}

template <typename Make>
Picture by_histogram(const Picture& from, ReusedBuffer& into, Make make) {
  const std::array<Histogram, 3> counts = histograms(from);
  return look_up(from, into, {make(counts[0]), make(counts[1]), make(counts[2])});
}

}  // namespace

Picture adjusted(const Picture& from, const Adjustment& adjustment, ReusedBuffer& into,
                 Scratch::Buffers& scratch) {
  const auto factor = static_cast<float>(adjustment.value);
  switch (adjustment.what) {
    case What::brightness:
      return look_up(from, into,
                     table_of([&](int v) { return to_byte(static_cast<float>(v) * factor); }));
    case What::contrast:
      return contrast(from, factor, into);
    case What::saturation:
      return saturation(from, factor, into);
    case What::hue: {
      if (colors_of(from) == 1) return from;
      const Target out = target_like(from, into);
      for (int y = 0; y < from.height; ++y)
        turn_hue(from.line(y), from.width, from.channels, factor, scratch.hue, out.line(y));
      return out.picture;
    }
    case What::sharpness:
      return sharpness(from, factor, into);
    case What::posterize: {
      const int bits = std::clamp(static_cast<int>(adjustment.value), 0, 8);
      const int mask = 0xFF & ~((1 << (8 - bits)) - 1);
      return look_up(from, into, table_of([&](int v) { return static_cast<uint8_t>(v & mask); }));
    }
    case What::solarize:
      return look_up(from, into, table_of([&](int v) {
                       return static_cast<uint8_t>(static_cast<float>(v) >= factor ? 255 - v : v);
                     }));
    case What::autocontrast:
      return by_histogram(from, into, stretched);
    case What::equalize:
      return by_histogram(from, into, equalized);
    case What::invert:
      return look_up(from, into, table_of([](int v) { return static_cast<uint8_t>(255 - v); }));
    case What::grayscale:
      return grayscale(from, into);
  }
  return from;
}

}  // namespace headrace
