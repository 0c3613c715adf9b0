#include <algorithm>

#include "codec/resample_passes.h"

namespace headrace {
namespace {

uint8_t to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFilterPrecision, 0, 255));
}

template <int kChannels>
void scale_line(const uint8_t* in, const Filter& filter, int width, uint8_t* out) {
  for (int x = 0; x < width; ++x, out += kChannels) {
    const int32_t* weights = filter.weights_of(x);
    const uint8_t* pixel = in + static_cast<size_t>(filter.first(x)) * kChannels;
    int32_t sum[kChannels];
    std::fill(sum, sum + kChannels, kFilterHalf);
    for (int k = 0, count = filter.count(x); k < count; ++k, pixel += kChannels)
      for (int c = 0; c < kChannels; ++c) sum[c] += pixel[c] * weights[k];
    for (int c = 0; c < kChannels; ++c) out[c] = to_byte(sum[c]);
  }
}

}  // namespace

void scale_lines_plain(const Picture& from, const Filter& filter, int width, uint8_t* out) {
  const size_t stride = static_cast<size_t>(width) * static_cast<size_t>(from.channels);
  for (int y = 0; y < from.height; ++y, out += stride) {
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

void blend_lines_plain(const uint8_t* first, size_t stride, const int32_t* weights, int count,
                       size_t bytes, uint8_t* out) {
  for (size_t x = 0; x < bytes; ++x) {
    int32_t sum = kFilterHalf;
    for (int k = 0; k < count; ++k) sum += first[static_cast<size_t>(k) * stride + x] * weights[k];
    out[x] = to_byte(sum);
  }
}

}  // namespace headrace
