#include "codec/erase.h"

#include <algorithm>

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
  const auto filled = [&]<typename T>(T (*number)(double)) {
    std::array<T, 4> numbers{};
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) numbers[c] = number(value(c));
    fill_box(reinterpret_cast<T*>(row), layout, size, channels, box, numbers);
  };
  switch (dtype) {
    case DType::u8:
      return filled(+[](double v) { return static_cast<uint8_t>(std::clamp(v, 0.0, 255.0)); });
    case DType::f16:
      return filled(+[](double v) { return to_f16(static_cast<float>(v)); });
    case DType::bf16:
      return filled(+[](double v) { return to_bf16(static_cast<float>(v)); });
    default:
      return filled(+[](double v) { return static_cast<float>(v); });
  }
}

}  // namespace headrace
