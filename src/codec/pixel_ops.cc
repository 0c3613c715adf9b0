#include "codec/pixel_ops.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "codec/color_lines.h"
#include "codec/pixel_lines.h"

namespace headrace {
namespace {

using What = Adjust::What;

/// Truncated, as torch converts floats to bytes.
uint8_t to_byte(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F)); }

int colors_of(const Picture& picture) { return picture.channels >= 3 ? 3 : 1; }

struct Target {
  uint8_t* pixels;
  Picture picture;
  uint8_t* line(int y) const { return pixels + static_cast<size_t>(y) * picture.stride; }
};

Target target_like(const Picture& from, ReusedBuffer& into) {
  const size_t stride = static_cast<size_t>(from.width) * static_cast<size_t>(from.channels);
  uint8_t* pixels = into.take_pixels(stride * static_cast<size_t>(from.height));
  return {pixels, {pixels, from.width, from.height, from.channels, stride}};
}

/// Lines of a channel each, of so many pixels that they stay in the first cache.
struct ChannelLines {
  alignas(64) uint8_t bytes[4][kLineChunk];
};

/// Calls `act(y, x, lines, count)` for the picture's channels, a part of a line at a time. `lines`
/// are the caller's to change: to where the channels are afterwards.
template <typename Act>
void each_part(const Picture& from, const Act& act) {
  const auto width = static_cast<size_t>(from.width);
  ChannelLines split;
  for (int y = 0; y < from.height; ++y)
    for (size_t x = 0; x < width; x += kLineChunk) {
      const size_t count = std::min(kLineChunk, width - x);
      uint8_t* lines[4] = {split.bytes[0], split.bytes[1], split.bytes[2], split.bytes[3]};
      split_line(from.line(y) + x * static_cast<size_t>(from.channels), count, from.channels, false,
                 lines);
      act(y, x, lines, count);
    }
}

/// A picture of channels that `make(lines, count, made)` puts into `made`'s lines, or where it has
/// let `lines` point to.
template <typename Make>
Picture each_line(const Picture& from, ReusedBuffer& into, const Make& make) {
  const Target out = target_like(from, into);
  ChannelLines made;
  each_part(from, [&](int y, size_t x, uint8_t** lines, size_t count) {
    make(lines, count, made.bytes);
    join_line(lines, count, from.channels, out.line(y) + x * static_cast<size_t>(from.channels));
  });
  return out.picture;
}

template <typename Function>
ByteTable table_of(Function f) {
  ByteTable table;
  for (size_t v = 0; v < table.size(); ++v) table[v] = f(static_cast<int>(v));
  return table;
}

/// A look-up a channel.
Picture look_up(const Picture& from, ReusedBuffer& into, const std::array<ByteTable, 3>& tables) {
  const auto colors = static_cast<size_t>(colors_of(from));
  return each_line(from, into, [&](uint8_t** lines, size_t count, auto& made) {
    for (size_t c = 0; c < colors; ++c) {
      look_up_line(lines[c], count, tables[c], made[c]);
      lines[c] = made[c];
    }
  });
}

/// The same one for all channels.
Picture look_up(const Picture& from, ReusedBuffer& into, const ByteTable& table) {
  if (colors_of(from) < from.channels) return look_up(from, into, {table, table, table});
  const Target out = target_like(from, into);
  for (int y = 0; y < from.height; ++y)
    look_up_line(from.line(y), out.picture.stride, table, out.line(y));
  return out.picture;
}

/// Of its luma.
double mean_of(const Picture& from) {
  uint64_t sum = 0;
  ChannelLines made;
  each_part(from, [&](int, size_t, uint8_t** lines, size_t count) {
    const uint8_t* line = lines[0];
    if (colors_of(from) == 3) {
      luma_line(lines, count, made.bytes[0]);
      line = made.bytes[0];
    }
    sum += std::accumulate(line, line + count, uint32_t{0});
  });
  return static_cast<double>(sum) / (static_cast<double>(from.width) * from.height);
}

Picture contrast(const Picture& from, float factor, ReusedBuffer& into) {
  const auto mean = static_cast<float>(mean_of(from));
  const float rest = 1 - factor;
  return look_up(from, into, table_of([&](int v) {
                   return to_byte(static_cast<float>(v) * factor + mean * rest);
                 }));
}

Picture saturation(const Picture& from, float factor, ReusedBuffer& into) {
  if (colors_of(from) == 1) return from;
  return each_line(from, into, [&](uint8_t** lines, size_t count, auto& made) {
    luma_line(lines, count, made[3]);
    for (size_t c = 0; c < 3; ++c) {
      mix_line(lines[c], made[3], count, factor, made[c]);
      lines[c] = made[c];
    }
  });
}

Picture grayscale(const Picture& from, ReusedBuffer& into) {
  if (colors_of(from) == 1) return from;
  return each_line(from, into, [](uint8_t** lines, size_t count, auto& made) {
    uint8_t* const gray = made[0];
    luma_line(lines, count, gray);
    std::fill_n(lines, 3, gray);
  });
}

Picture hue(const Picture& from, float turn, ReusedBuffer& into) {
  if (colors_of(from) == 1) return from;
  return each_line(from, into, [&](uint8_t** lines, size_t count, auto& made) {
    uint8_t* const turned[3] = {made[0], made[1], made[2]};
    turn_hue_line(lines, count, turn, turned);
    std::copy_n(turned, 3, lines);
  });
}

/// Against a blur of 3 x 3; the border stays.
Picture sharpness(const Picture& from, float factor, ReusedBuffer& into) {
  if (from.width <= 2 || from.height <= 2) return from;
  const Target out = target_like(from, into);
  const auto step = static_cast<size_t>(from.channels);
  const size_t stride = out.picture.stride;
  for (int y = 0; y < from.height; ++y) {
    const uint8_t* line = from.line(y);
    uint8_t* to = out.line(y);
    const bool is_border = y == 0 || y == from.height - 1;
    std::copy_n(line, is_border ? stride : step, to);
    if (is_border) continue;
    const uint8_t* const lines[3] = {from.line(y - 1) + step, line + step, from.line(y + 1) + step};
    sharpen_line(lines, stride - 2 * step, step, factor, to + step);
    std::copy_n(line + stride - step, step, to + stride - step);
    if (colors_of(from) == from.channels) continue;
    for (size_t alpha = step - 1; alpha < stride; alpha += step) to[alpha] = line[alpha];
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

ByteTable stretched(const Histogram& counts) {
  const auto is_used = [](uint32_t n) { return n > 0; };
  const auto low = std::find_if(counts.begin(), counts.end(), is_used) - counts.begin();
  const auto high = 255 - (std::find_if(counts.rbegin(), counts.rend(), is_used) - counts.rbegin());
  if (low >= high) return table_of([](int v) { return static_cast<uint8_t>(v); });
  const float scale = static_cast<float>(high - low) * static_cast<float>(1.0 / 255.0);
  return table_of(
      [&](int v) { return to_byte((static_cast<float>(v) - static_cast<float>(low)) / scale); });
}

ByteTable equalized(const Histogram& counts) {
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

Picture adjusted(const Picture& from, const Adjustment& adjustment, ReusedBuffer& into) {
  const auto factor = static_cast<float>(adjustment.value);
  switch (adjustment.what) {
    case What::brightness:
      return look_up(from, into,
                     table_of([&](int v) { return to_byte(static_cast<float>(v) * factor); }));
    case What::contrast:
      return contrast(from, factor, into);
    case What::saturation:
      return saturation(from, factor, into);
    case What::hue:
      return hue(from, factor, into);
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
