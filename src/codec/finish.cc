#include "codec/finish.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace headrace {
namespace {

float unit(size_t byte) { return static_cast<float>(byte) * static_cast<float>(1.0 / 255.0); }

bool reciprocal_is_exact(float mean, float std) {
  const float reciprocal = 1.0f / std;
  for (size_t byte = 0; byte < 256; ++byte) {
    const float x = unit(byte) - mean;
    const float near = x * reciprocal;
    const float corrected = std::fma(std::fma(-near, std, x), reciprocal, near);
    if (std::bit_cast<uint32_t>(corrected) != std::bit_cast<uint32_t>(x / std)) return false;
  }
  return true;
}

LineScale scale_of(const Normalize& normalize, size_t first, size_t channels) {
  LineScale scale;
  scale.kind = LineScale::Kind::normalized;
  scale.by_reciprocal = true;
  for (size_t i = 0; i < kScalePeriod; ++i) {
    const size_t c = first + i % channels;
    const auto pick = [&](const std::vector<double>& values) {
      return static_cast<float>(values[std::min(c, values.size() - 1)]);
    };
    scale.mean[i] = pick(normalize.mean);
    scale.std[i] = pick(normalize.std);
    scale.reciprocal[i] = 1.0f / scale.std[i];
    if (i < channels) scale.by_reciprocal &= reciprocal_is_exact(scale.mean[i], scale.std[i]);
  }
  return scale;
}

/// Where the chunk of an upright line lies in the picture's line.
const uint8_t* chunk_of(const Picture& picture, int y, size_t x, size_t count, bool mirror) {
  const auto width = static_cast<size_t>(picture.width);
  return picture.line(y) + (mirror ? width - x - count : x) * static_cast<size_t>(picture.channels);
}

void write_planes(const Picture& picture, const RowFormat& format, const PixelScale& scale,
                  std::byte* row) {
  const auto width = static_cast<size_t>(picture.width);
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t size = dtype_size(format.dtype);
  const size_t plane = width * static_cast<size_t>(picture.height) * size;
  alignas(64) uint8_t split[4][kLineChunk];
  for (int y = 0; y < picture.height; ++y) {
    for (size_t x = 0; x < width; x += kLineChunk) {
      const size_t count = std::min(kLineChunk, width - x);
      std::byte* out = row + (static_cast<size_t>(y) * width + x) * size;
      uint8_t* lines[4] = {split[0], split[1], split[2], split[3]};
      if (format.dtype == DType::u8)
        for (size_t c = 0; c < channels; ++c)
          lines[c] = reinterpret_cast<uint8_t*>(out + c * plane);
      split_line(chunk_of(picture, y, x, count, format.mirror), count, picture.channels,
                 format.mirror, lines);
      if (format.dtype == DType::u8) continue;
      for (size_t c = 0; c < channels; ++c)
        convert_line(lines[c], count, scale.of(static_cast<int>(c)), format.dtype, format.stream,
                     out + c * plane);
    }
  }
}

void write_pixels(const Picture& picture, const RowFormat& format, const PixelScale& scale,
                  std::byte* row) {
  const auto width = static_cast<size_t>(picture.width);
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t size = dtype_size(format.dtype);
  alignas(64) uint8_t mirrored[4 * kLineChunk];
  for (int y = 0; y < picture.height; ++y) {
    for (size_t x = 0; x < width; x += kLineChunk) {
      const size_t count = std::min(kLineChunk, width - x);
      std::byte* out = row + (static_cast<size_t>(y) * width + x) * channels * size;
      const uint8_t* in = chunk_of(picture, y, x, count, format.mirror);
      if (format.mirror) {
        mirror_line(in, count, picture.channels, mirrored);
        in = mirrored;
      }
      if (format.dtype == DType::u8) {
        std::memcpy(out, in, count * channels);
      } else {
        convert_line(in, count * channels, scale.interleaved(picture.channels), format.dtype,
                     format.stream, out);
      }
    }
  }
}

}  // namespace

PixelScale PixelScale::plain() { return PixelScale(); }

PixelScale PixelScale::unit_range() {
  PixelScale scale;
  for (auto* scales : {&scale.channels_, &scale.interleaved_})
    for (LineScale& each : *scales) each.kind = LineScale::Kind::unit;
  return scale;
}

PixelScale PixelScale::normalized(const Normalize& normalize) {
  PixelScale scale;
  for (size_t c = 0; c < 4; ++c) {
    scale.channels_[c] = scale_of(normalize, c, 1);
    scale.interleaved_[c] = scale_of(normalize, 0, c + 1);
  }
  return scale;
}

void write_row(const Picture& picture, const RowFormat& format, const PixelScale& scale,
               std::byte* row) {
  if (format.layout == Layout::chw) {
    write_planes(picture, format, scale, row);
  } else {
    write_pixels(picture, format, scale, row);
  }
  if (format.stream) end_stream();
}

}  // namespace headrace
