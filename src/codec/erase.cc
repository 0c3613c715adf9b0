#include "codec/erase.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codec/narrow_float.h"

namespace headrace {
namespace {

template <typename T>
void fill_box(T* row, Layout layout, Size size, int channels, const Box& box,
              const std::array<T, 4>& values) {
  for (int c = 0; c < channels; ++c) {
    const size_t pixel_step = layout == Layout::chw ? 1 : static_cast<size_t>(channels);
    const size_t line_step = static_cast<size_t>(size.width) * pixel_step;
    T* plane = row + (layout == Layout::chw
                          ? static_cast<size_t>(c) * line_step * static_cast<size_t>(size.height)
                          : static_cast<size_t>(c));
    for (int y = box.top; y < box.top + box.height; ++y)
      for (int x = box.left; x < box.left + box.width; ++x)
        plane[static_cast<size_t>(y) * line_step + static_cast<size_t>(x) * pixel_step] =
            values[static_cast<size_t>(c)];
  }
}

}  // namespace

void erase_box(std::byte* row, DType dtype, Layout layout, Size size, int channels, const Box& box,
               const std::vector<double>& values) {
  const auto value = [&](size_t c) { return values.size() == 1 ? values[0] : values[c]; };
  const auto count = static_cast<size_t>(channels);
  if (dtype == DType::u8) {
    std::array<uint8_t, 4> bytes{};
    for (size_t c = 0; c < count; ++c)
      bytes[c] = static_cast<uint8_t>(std::clamp(value(c), 0.0, 255.0));
    return fill_box(reinterpret_cast<uint8_t*>(row), layout, size, channels, box, bytes);
  }
  std::array<float, 4> floats{};
  for (size_t c = 0; c < count; ++c) floats[c] = static_cast<float>(value(c));
  if (dtype == DType::f32)
    return fill_box(reinterpret_cast<float*>(row), layout, size, channels, box, floats);
  std::array<uint16_t, 4> narrow{};
  for (size_t c = 0; c < count; ++c)
    narrow[c] = dtype == DType::f16 ? to_f16(floats[c]) : to_bf16(floats[c]);
  fill_box(reinterpret_cast<uint16_t*>(row), layout, size, channels, box, narrow);
}

}  // namespace headrace
