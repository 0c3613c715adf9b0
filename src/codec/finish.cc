#include "codec/finish.h"

#include <algorithm>
#include <cstring>

namespace headrace {
namespace {

/// Writes value(byte, channel) of all pixels to their places in the row. The number of channels is
/// known to the compiler, so that the inner loops are plain ones.
template <int kChannels, typename T, typename Value>
void write(const Picture& picture, bool mirror, Layout layout, T* row, Value value) {
  const auto width = static_cast<size_t>(picture.width);
  const size_t plane = width * static_cast<size_t>(picture.height);
  for (int y = 0; y < picture.height; ++y) {
    const uint8_t* line = picture.line(y);
    const size_t start = static_cast<size_t>(y) * width;
    for (int c = 0; c < kChannels; ++c) {
      T* out = layout == Layout::chw ? row + plane * static_cast<size_t>(c) + start
                                     : row + start * kChannels + c;
      const size_t step = layout == Layout::chw ? 1 : kChannels;
      if (mirror) {
        for (size_t x = 0; x < width; ++x)
          out[x * step] = value(line[(width - 1 - x) * kChannels + static_cast<size_t>(c)], c);
      } else {
        for (size_t x = 0; x < width; ++x)
          out[x * step] = value(line[x * kChannels + static_cast<size_t>(c)], c);
      }
    }
  }
}

template <typename T, typename Value>
void write_any(const Picture& picture, bool mirror, Layout layout, T* row, Value value) {
  switch (picture.channels) {
    case 1:
      return write<1>(picture, mirror, layout, row, value);
    case 2:
      return write<2>(picture, mirror, layout, row, value);
    case 3:
      return write<3>(picture, mirror, layout, row, value);
    default:
      return write<4>(picture, mirror, layout, row, value);
  }
}

}  // namespace

ValueTables ValueTables::plain() {
  ValueTables tables;
  tables.tables_.resize(1);
  for (size_t v = 0; v < 256; ++v) tables.tables_[0][v] = static_cast<float>(v);
  return tables;
}

ValueTables ValueTables::unit_range() {
  ValueTables tables = plain();
  for (float& value : tables.tables_[0]) value *= static_cast<float>(1.0 / 255.0);
  return tables;
}

ValueTables ValueTables::normalized(const Normalize& normalize) {
  ValueTables tables;
  const ValueTables unit = unit_range();
  const size_t count = std::max(normalize.mean.size(), normalize.std.size());
  tables.tables_.resize(count, unit.tables_[0]);
  for (size_t c = 0; c < count; ++c) {
    const auto mean = static_cast<float>(normalize.mean[normalize.mean.size() == 1 ? 0 : c]);
    const auto std = static_cast<float>(normalize.std[normalize.std.size() == 1 ? 0 : c]);
    for (float& value : tables.tables_[c]) value = (value - mean) / std;
  }
  return tables;
}

void write_u8(const Picture& picture, bool mirror, Layout layout, std::byte* row) {
  auto* out = reinterpret_cast<uint8_t*>(row);
  if (layout == Layout::hwc && !mirror) {
    const size_t bytes = static_cast<size_t>(picture.width) * static_cast<size_t>(picture.channels);
    for (int y = 0; y < picture.height; ++y, out += bytes) std::memcpy(out, picture.line(y), bytes);
    return;
  }
  write_any(picture, mirror, layout, out, [](uint8_t byte, int) { return byte; });
}

void write_f32(const Picture& picture, bool mirror, Layout layout, const ValueTables& tables,
               std::byte* row) {
  const std::array<const float*, 4> of = {tables.of(0), tables.of(1), tables.of(2), tables.of(3)};
  write_any(picture, mirror, layout, reinterpret_cast<float*>(row),
            [&](uint8_t byte, int channel) { return of[static_cast<size_t>(channel)][byte]; });
}

}  // namespace headrace
