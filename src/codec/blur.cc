#include "codec/blur.h"

#include <algorithm>
#include <cmath>

#include "codec/blur_lines.h"
#include "codec/pixel_lines.h"

namespace headrace {
namespace {

/// The weights of a Gaussian, adding up to 1.
void make_kernel(int size, double sigma, std::vector<float>& kernel) {
  kernel.resize(static_cast<size_t>(size));
  double sum = 0;
  const int middle = (size - 1) / 2;
  for (int i = 0; i < size; ++i) {
    const double x = i - middle;
    sum += std::exp(-x * x / (2 * sigma * sigma));
  }
  for (int i = 0; i < size; ++i) {
    const double x = i - middle;
    kernel[static_cast<size_t>(i)] =
        static_cast<float>(std::exp(-x * x / (2 * sigma * sigma)) / sum);
  }
}

int reflected(int i, int size) {
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  int at = i % period;
  if (at < 0) at += period;
  return std::min(at, period - at);
}

/// One line with `margin` pixels of reflection on both sides.
void widen(const uint8_t* line, int width, int channels, int margin, uint8_t* out) {
  const auto step = static_cast<size_t>(channels);
  const auto reflect = [&](int begin, int end) {
    for (int x = begin; x < end; ++x, out += step)
      std::copy_n(line + static_cast<size_t>(reflected(x, width)) * step, step, out);
  };
  reflect(-margin, 0);
  out = std::copy_n(line, static_cast<size_t>(width) * step, out);
  reflect(width, width + margin);
}

}  // namespace

Picture blurred(const Picture& from, const Blur& blur, ReusedBuffer& into,
                Scratch::Buffers& scratch) {
  const auto channels = static_cast<size_t>(from.channels);
  const size_t stride = static_cast<size_t>(from.width) * channels;
  const auto height = static_cast<size_t>(from.height);
  const int margin = blur.kernel_width / 2;
  const size_t wide = stride + 2 * static_cast<size_t>(margin) * channels;
  const size_t floats = height * stride + wide;
  auto* across = reinterpret_cast<float*>(scratch.blurred.take(floats * sizeof(float)).data());
  float* line = across + height * stride;
  uint8_t* bytes = scratch.horizontal.take_pixels(wide);
  std::vector<const float*>& lines = scratch.blurred_lines;

  make_kernel(blur.kernel_width, blur.sigma, scratch.kernel);
  lines.resize(scratch.kernel.size());
  for (size_t k = 0; k < lines.size(); ++k) lines[k] = line + k * channels;
  for (size_t y = 0; y < height; ++y) {
    widen(from.line(static_cast<int>(y)), from.width, from.channels, margin, bytes);
    convert_line(bytes, wide, LineScale(), DType::f32, false, reinterpret_cast<std::byte*>(line));
    weigh_lines(lines.data(), scratch.kernel.data(), lines.size(), stride, across + y * stride);
  }

  make_kernel(blur.kernel_height, blur.sigma, scratch.kernel);
  lines.resize(scratch.kernel.size());
  uint8_t* out = into.take_pixels(height * stride);
  for (int y = 0; y < from.height; ++y, out += stride) {
    for (int k = 0; k < blur.kernel_height; ++k) {
      const int at = reflected(y + k - blur.kernel_height / 2, from.height);
      lines[static_cast<size_t>(k)] = across + static_cast<size_t>(at) * stride;
    }
    weigh_lines(lines.data(), scratch.kernel.data(), lines.size(), stride, line);
    round_line(line, stride, out);
  }
  return {out - height * stride, from.width, from.height, from.channels, stride};
}

}  // namespace headrace
