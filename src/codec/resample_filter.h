// The weights of a separable scaling filter in one direction, as Pillow computes them.
//
// A filter as wide as the reduction: output pixel i is a weighted sum of the input pixels
// [first, first + count); weights are fixed-point numbers of kPrecision bits. The method is that of
// Graphics Gems III, "Filtered Image Rescaling"; widths and rounding are Pillow's, so that a recipe
// gives the pixels that it gave there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headrace/image_ops.h"

namespace headrace {

/// Weights are numbers of 22 bits behind the point.
inline constexpr int kFilterPrecision = 22;

/// The weights of consecutive output pixels. Owns nothing.
struct Filter {
  int taps = 0;                 ///< weights an output pixel; unused ones are zero
  const int* bounds = nullptr;  ///< pairs of first and count
  const int32_t* weights = nullptr;

  int first(int i) const { return bounds[2 * i]; }
  int count(int i) const { return bounds[2 * i + 1]; }
  const int32_t* weights_of(int i) const {
    return weights + static_cast<size_t>(i) * static_cast<size_t>(taps);
  }
};

/// Input pixels [begin, end).
struct Span {
  int begin = 0;
  int end = 0;
};

/// Memory of filters that is used again.
struct FilterMemory {
  std::vector<int> bounds;
  std::vector<int32_t> weights;
  std::vector<double> exact;
};

/// Of `in` pixels, those from `begin` on become `out`; the edges may cut pixels.
struct Ratio {
  Ratio(int in, int out) : Ratio(in, out, 0, in) {}
  Ratio(int in, int out, double begin, double length)
      : in(in), out(out), begin(begin), length(length) {}

  /// Whether every pixel stays what it is.
  bool copies() const { return in == out && begin == 0 && length == in; }

  int in;
  int out;
  double begin;
  double length;
};

/// The weights of output pixels begin … begin + count - 1. Input pixels are counted from
/// `first_input` on. Precondition: not Interpolation::nearest.
Filter make_filter(Interpolation kind, Ratio ratio, int begin, int count, int first_input,
                   FilterMemory& memory);

/// The input pixels that output pixels [from, to) are made from.
Span filter_span(Interpolation kind, Ratio ratio, int from, int to);

/// The input pixels that `nearest` takes for output pixels begin … begin + count - 1.
void nearest_sources(Ratio ratio, int begin, int count, std::vector<int>& sources);

}  // namespace headrace
