#include "codec/erase.h"

#include <algorithm>

#include "codec/narrow_float.h"

namespace headrace {
namespace {

/// Lines of `count` numbers that are alike, `line_step` apart.
template <typename T, typename FillLine>
void fill_lines(T* first, int lines, size_t count, size_t line_step, const FillLine& fill_line) {
  if (lines < 1) return;
  fill_line(first);
  for (size_t y = 1; y < static_cast<size_t>(lines); ++y)
    std::copy_n(first, count, first + y * line_step);
}

template <typename T>
void fill_box(T* row, Layout layout, Size size, int channels, const Box& box,
              const std::array<T, 4>& values) {
  const auto width = static_cast<size_t>(size.width);
  const auto count = static_cast<size_t>(box.width);
  const auto step = static_cast<size_t>(channels);
  const size_t at = static_cast<size_t>(box.top) * width + static_cast<size_t>(box.left);
  if (layout == Layout::hwc)
    return fill_lines(row + at * step, box.height, count * step, width * step, [&](T* line) {
      for (size_t x = 0; x < count; ++x) std::copy_n(values.data(), step, line + x * step);
    });
  const size_t plane = width * static_cast<size_t>(size.height);
  for (size_t c = 0; c < step; ++c)
    fill_lines(row + c * plane + at, box.height, count, width,
               [&](T* line) { std::fill_n(line, count, values[c]); });
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
