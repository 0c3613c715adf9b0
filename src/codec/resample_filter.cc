#include "codec/resample_filter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headrace {
namespace {

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

/// Keys' cubic with a = -1/2.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

struct Kernel {
  double (*value)(double);
  double support;  ///< half its width
};

Kernel kernel_of(Interpolation kind) {
  switch (kind) {
    case Interpolation::box:
      return {box, 0.5};
    case Interpolation::bicubic:
      return {cubic, 2.0};
    case Interpolation::lanczos:
      return {lanczos, 3.0};
    case Interpolation::nearest:
    case Interpolation::bilinear:
      break;
  }
  return {triangle, 1.0};
}

/// Where a filter lies for each output pixel.
struct Frame {
  Frame(Interpolation kind, Ratio ratio)
      : in(ratio.in),
        begin(ratio.begin),
        scale(ratio.length / ratio.out),
        stretch(std::max(1.0, scale)),  // an enlargement interpolates, no narrower
        support(kernel_of(kind).support * stretch) {}

  double centre(int i) const { return begin + (i + 0.5) * scale; }
  int first(int i) const { return std::max(0, static_cast<int>(centre(i) - support + 0.5)); }
  int last(int i) const { return std::min(in, static_cast<int>(centre(i) + support + 0.5)); }

  int in;
  double begin;
  double scale;
  double stretch;
  double support;
};

/// The centres of output pixels, added up as Pillow does: where one falls between two input pixels
/// the rounding of the sums decides.
class NearestSteps {
 public:
  explicit NearestSteps(Ratio ratio)
      : last_(ratio.in - 1), step_(ratio.length / ratio.out), at_(ratio.begin + step_ * 0.5) {}

  void skip(int pixels) {
    for (int i = 0; i < pixels; ++i) at_ += step_;
  }
  int source() const { return std::min(last_, static_cast<int>(at_)); }

 private:
  int last_;
  double step_;
  double at_;
};

/// Half away from zero.
int32_t fixed_point(double weight) {
  const double scaled = weight * (1 << kFilterPrecision);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

Filter make_filter(Interpolation kind, Ratio ratio, int begin, int count, int first_input,
                   FilterMemory& memory) {
  const Frame frame(kind, ratio);
  const Kernel kernel = kernel_of(kind);
  const int taps = static_cast<int>(std::ceil(frame.support)) * 2 + 1;
  const auto outputs = static_cast<size_t>(count);
  memory.bounds.resize(2 * outputs);
  memory.weights.assign(outputs * static_cast<size_t>(taps), 0);
  memory.exact.resize(static_cast<size_t>(taps));
  const double narrow = 1.0 / frame.stretch;
  for (int i = begin; i < begin + count; ++i) {
    const auto at = static_cast<size_t>(i - begin);
    const double centre = frame.centre(i);
    const int first = frame.first(i);
    const int inputs = frame.last(i) - first;
    double sum = 0;
    for (int k = 0; k < inputs; ++k) {
      const double weight = kernel.value((k + first - centre + 0.5) * narrow);
      memory.exact[static_cast<size_t>(k)] = weight;
      sum += weight;
    }
    memory.bounds[2 * at] = first - first_input;
    memory.bounds[2 * at + 1] = inputs;
    if (sum == 0) continue;
    int32_t* fixed = memory.weights.data() + at * static_cast<size_t>(taps);
    for (int k = 0; k < inputs; ++k)
      fixed[k] = fixed_point(memory.exact[static_cast<size_t>(k)] / sum);
  }
  return {taps, memory.bounds.data(), memory.weights.data()};
}

Span filter_span(Interpolation kind, Ratio ratio, int from, int to) {
  if (kind == Interpolation::nearest) {
    NearestSteps steps(ratio);
    steps.skip(from);
    const int begin = steps.source();
    steps.skip(to - 1 - from);
    return {begin, steps.source() + 1};
  }
  if (ratio.copies()) return {from, to};
  const Frame frame(kind, ratio);
  return {frame.first(from), frame.last(to - 1)};
}

void nearest_sources(Ratio ratio, int begin, int count, std::vector<int>& sources) {
  NearestSteps steps(ratio);
  steps.skip(begin);
  sources.clear();
  for (int i = 0; i < count; ++i, steps.skip(1)) sources.push_back(steps.source());
}

}  // namespace headrace
