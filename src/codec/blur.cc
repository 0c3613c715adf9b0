#include "codec/blur.h"

#include <algorithm>
#include <cmath>

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

/// sums[i] += line[i] * weight.
template <typename Value>
void add_line(const Value* line, float weight, size_t count, float* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] += static_cast<float>(line[i]) * weight;
}

/// One line with `margin` pixels of reflection on both sides.
void widen(const uint8_t* line, int width, int channels, int margin, uint8_t* out) {
  const auto step = static_cast<size_t>(channels);
  for (int x = -margin; x < width + margin; ++x, out += step) {
    const uint8_t* pixel = line + static_cast<size_t>(reflected(x, width)) * step;
    std::copy(pixel, pixel + step, out);
  }
}

}  // namespace

Picture blurred(const Picture& from, const Blur& blur, ReusedBuffer& into,
                Scratch::Buffers& scratch) {
  const auto channels = static_cast<size_t>(from.channels);
  const size_t stride = static_cast<size_t>(from.width) * channels;
  const auto height = static_cast<size_t>(from.height);
  const int margin = blur.kernel_width / 2;
  auto* across =
      reinterpret_cast<float*>(scratch.blurred.take((height + 1) * stride * sizeof(float)).data());
  float* sums = across + height * stride;
  auto* wide = reinterpret_cast<uint8_t*>(
      scratch.horizontal.take(stride + 2 * static_cast<size_t>(margin) * channels).data());

  make_kernel(blur.kernel_width, blur.sigma, scratch.kernel);
  for (int y = 0; y < from.height; ++y) {
    widen(from.line(y), from.width, from.channels, margin, wide);
    float* line = across + static_cast<size_t>(y) * stride;
    std::fill(line, line + stride, 0.0F);
    for (size_t k = 0; k < scratch.kernel.size(); ++k)
      add_line(wide + k * channels, scratch.kernel[k], stride, line);
  }

  make_kernel(blur.kernel_height, blur.sigma, scratch.kernel);
  auto* out = reinterpret_cast<uint8_t*>(into.take(height * stride).data());
  for (int y = 0; y < from.height; ++y, out += stride) {
    std::fill(sums, sums + stride, 0.0F);
    for (int k = 0; k < blur.kernel_height; ++k) {
      const int at = reflected(y + k - blur.kernel_height / 2, from.height);
      add_line(across + static_cast<size_t>(at) * stride, scratch.kernel[static_cast<size_t>(k)],
               stride, sums);
    }
    for (size_t i = 0; i < stride; ++i)
      out[i] = static_cast<uint8_t>(std::clamp(std::nearbyint(sums[i]), 0.0F, 255.0F));
  }
  return {out - height * stride, from.width, from.height, from.channels, stride};
}

}  // namespace headrace
