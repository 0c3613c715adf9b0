#include "codec/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace headrace {
namespace {

constexpr int kPrecision = 22;
constexpr int32_t kHalf = 1 << (kPrecision - 1);

/// For each output pixel the input pixels [first, first + count) and their weights.
struct Filter {
  int taps = 0;                ///< weights an output pixel; unused ones are zero
  const int* first = nullptr;  ///< pairs of first and count
  const int32_t* weights = nullptr;

  int begin(int i) const { return first[2 * i]; }
  int count(int i) const { return first[2 * i + 1]; }
  const int32_t* weights_of(int i) const {
    return weights + static_cast<size_t>(i) * static_cast<size_t>(taps);
  }
};

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

/// The weights that scale `in` pixels to `out`. Memory comes from the vectors.
Filter make_filter(int in, int out, std::vector<int>& bounds, std::vector<int32_t>& weights,
                   std::vector<double>& exact) {
  const double scale = static_cast<double>(in) / out;
  const double support = std::max(1.0, scale);  // an enlargement interpolates, no narrower
  const int taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  bounds.resize(2 * static_cast<size_t>(out));
  weights.assign(static_cast<size_t>(out) * static_cast<size_t>(taps), 0);
  exact.resize(static_cast<size_t>(taps));
  for (int i = 0; i < out; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - support + 0.5));
    const int last = std::min(in, static_cast<int>(centre + support + 0.5));
    double sum = 0;
    for (int k = first; k < last; ++k) {
      const double weight = triangle((k - centre + 0.5) * (1.0 / support));
      exact[static_cast<size_t>(k - first)] = weight;
      sum += weight;
    }
    bounds[2 * static_cast<size_t>(i)] = first;
    bounds[2 * static_cast<size_t>(i) + 1] = last - first;
    int32_t* fixed = weights.data() + static_cast<size_t>(i) * static_cast<size_t>(taps);
    if (sum == 0) continue;
    for (int k = 0; k < last - first; ++k)
      fixed[k] =
          static_cast<int32_t>(0.5 + exact[static_cast<size_t>(k)] / sum * (1 << kPrecision));
  }
  return {taps, bounds.data(), weights.data()};
}

/// Weights are positive and add up to about 1, so only the upper end can be passed.
uint8_t to_byte(int32_t sum) { return static_cast<uint8_t>(std::min(sum >> kPrecision, 255)); }

template <int kChannels>
void scale_line(const uint8_t* in, const Filter& filter, int width, uint8_t* out) {
  for (int x = 0; x < width; ++x, out += kChannels) {
    const int32_t* weights = filter.weights_of(x);
    const uint8_t* pixel = in + static_cast<size_t>(filter.begin(x)) * kChannels;
    int32_t sum[kChannels];
    std::fill(sum, sum + kChannels, kHalf);
    for (int k = 0, count = filter.count(x); k < count; ++k, pixel += kChannels)
      for (int c = 0; c < kChannels; ++c) sum[c] += pixel[c] * weights[k];
    for (int c = 0; c < kChannels; ++c) out[c] = to_byte(sum[c]);
  }
}

void scale_lines(const Picture& from, const Filter& filter, int first, int lines, int width,
                 uint8_t* out) {
  const size_t stride = static_cast<size_t>(width) * static_cast<size_t>(from.channels);
  for (int y = first; y < first + lines; ++y, out += stride) {
    switch (from.channels) {
      case 1:
        scale_line<1>(from.line(y), filter, width, out);
        break;
      case 2:
        scale_line<2>(from.line(y), filter, width, out);
        break;
      case 3:
        scale_line<3>(from.line(y), filter, width, out);
        break;
      default:
        scale_line<4>(from.line(y), filter, width, out);
        break;
    }
  }
}

/// One output line from `count` input lines; a block of columns at a time stays in registers.
void blend_lines(const uint8_t* first, size_t stride, const int32_t* weights, int count,
                 size_t bytes, uint8_t* out) {
  constexpr size_t kBlock = 32;
  for (size_t x = 0; x < bytes; x += kBlock) {
    const size_t width = std::min(kBlock, bytes - x);
    int32_t sums[kBlock];
    std::fill(sums, sums + kBlock, kHalf);
    for (int k = 0; k < count; ++k) {
      const uint8_t* line = first + static_cast<size_t>(k) * stride + x;
      const int32_t weight = weights[k];
      if (width == kBlock) {
        for (size_t i = 0; i < kBlock; ++i) sums[i] += line[i] * weight;
      } else {
        for (size_t i = 0; i < width; ++i) sums[i] += line[i] * weight;
      }
    }
    for (size_t i = 0; i < width; ++i) out[x + i] = to_byte(sums[i]);
  }
}

}  // namespace

Picture resize_bilinear(const Picture& from, Size out, ReusedBuffer& into,
                        Scratch::Buffers& scratch) {
  Picture picture = from;
  const Filter down = make_filter(from.height, out.height, scratch.bounds_y, scratch.weights_y,
                                  scratch.exact_weights);
  if (out.width != from.width) {
    const Filter across = make_filter(from.width, out.width, scratch.bounds_x, scratch.weights_x,
                                      scratch.exact_weights);
    const bool last = out.height == from.height;
    const size_t stride = static_cast<size_t>(out.width) * static_cast<size_t>(from.channels);
    ReusedBuffer& buffer = last ? into : scratch.horizontal;
    auto* pixels =
        reinterpret_cast<uint8_t*>(buffer.take(stride * static_cast<size_t>(from.height)).data());
    scale_lines(from, across, 0, from.height, out.width, pixels);
    picture.pixels = pixels;
    picture.width = out.width;
    picture.stride = stride;
  }
  if (out.height == from.height) return picture;

  const size_t stride = static_cast<size_t>(out.width) * static_cast<size_t>(from.channels);
  auto* pixels =
      reinterpret_cast<uint8_t*>(into.take(stride * static_cast<size_t>(out.height)).data());
  for (int y = 0; y < out.height; ++y)
    blend_lines(picture.line(down.begin(y)), picture.stride, down.weights_of(y), down.count(y),
                stride, pixels + static_cast<size_t>(y) * stride);
  picture.pixels = pixels;
  picture.height = out.height;
  picture.stride = stride;
  return picture;
}

}  // namespace headrace
