#include "cli/row_pictures.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace headrace::cli {
namespace {

/// Height, width and channels come last.
std::span<const int64_t> row_shape(const Column& column, size_t i) {
  if (!column.ragged) return std::span(column.shape).subspan(1);
  const auto ndim = static_cast<size_t>(column.row_ndim);
  return std::span(column.row_shapes).subspan(i * ndim, ndim);
}

size_t count_elements(std::span<const int64_t> shape) {
  size_t count = 1;
  for (const int64_t side : shape) count *= static_cast<size_t>(side);
  return count;
}

/// What makes rows floats: (value / 255 - mean) / std.
Normalize scale_of(const ImageSpec& spec) {
  for (const ImageOp& op : spec.ops)
    if (const auto* normalize = std::get_if<Normalize>(&op)) return *normalize;
  return {.mean = {0}, .std = {1}};
}

std::vector<uint8_t> levels_of(const Column& column, const Normalize& scale) {
  std::vector<float> values(column.data.size() / sizeof(float));
  if (values.empty()) return {};
  std::memcpy(values.data(), column.data.data(), values.size() * sizeof(float));
  std::vector<uint8_t> levels(values.size());
  // One number serves all channels; else there are as many as channels, which come last.
  for (size_t i = 0; i < values.size(); ++i) {
    const double mean = scale.mean[i % scale.mean.size()];
    const double level = (values[i] * scale.std[i % scale.std.size()] + mean) * 255;
    levels[i] = static_cast<uint8_t>(std::lround(std::clamp(level, 0.0, 255.0)));
  }
  return levels;
}

}  // namespace

RowPictures::RowPictures(const Column& column, const ImageSpec& spec) : column_(column) {
  if (column.dtype == DType::f32) levels_ = levels_of(column, scale_of(spec));
}

Picture RowPictures::row(size_t i) const {
  const std::span<const int64_t> shape = row_shape(column_, i);
  const size_t begin =
      column_.ragged ? static_cast<size_t>(column_.offsets[i]) : i * count_elements(shape);
  const auto* bytes = reinterpret_cast<const uint8_t*>(column_.data.data());
  const size_t line = count_elements(shape.last(2));
  return {.pixels = (levels_.empty() ? bytes : levels_.data()) + begin,
          .width = static_cast<int>(shape[shape.size() - 2]),
          .height = static_cast<int>(count_elements(shape) / line),
          .channels = static_cast<int>(shape.back()),
          .stride = line};
}

}  // namespace headrace::cli
