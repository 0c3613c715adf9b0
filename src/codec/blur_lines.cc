#include "codec/blur_lines.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/blur_lines.cc"
#include <hwy/foreach_target.h>
//
#include "codec/byte_floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

void weigh(const float* const* lines, const float* weights, size_t line_count, size_t count,
           float* out) {
  const Floats d;
  const bool done = by_vectors(d, count, [&](size_t x) {
    auto sum = hn::Zero(d);
    for (size_t k = 0; k < line_count; ++k)
      sum = hn::Add(sum, hn::Mul(hn::LoadU(d, lines[k] + x), hn::Set(d, weights[k])));
    hn::StoreU(sum, d, out + x);
  });
  if (!done) weigh_lines_plain(lines, weights, line_count, count, out);
}

void round_all(const float* in, size_t count, uint8_t* out) {
  const Floats d;
  const bool done = by_vectors(
      d, count, [&](size_t x) { store_bytes(d, hn::Round(hn::LoadU(d, in + x)), out + x); });
  if (!done) round_line_plain(in, count, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {
namespace {
HWY_EXPORT(weigh);
HWY_EXPORT(round_all);
}  // namespace

void weigh_lines(const float* const* lines, const float* weights, size_t line_count, size_t count,
                 float* out) {
  HWY_DYNAMIC_DISPATCH(weigh)(lines, weights, line_count, count, out);
}

void weigh_lines_plain(const float* const* lines, const float* weights, size_t line_count,
                       size_t count, float* out) {
  std::fill_n(out, count, 0.0F);
  for (size_t k = 0; k < line_count; ++k)
    for (size_t x = 0; x < count; ++x) out[x] += lines[k][x] * weights[k];
}

void round_line(const float* in, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(round_all)(in, count, out);
}

void round_line_plain(const float* in, size_t count, uint8_t* out) {
  for (size_t x = 0; x < count; ++x)
    out[x] = static_cast<uint8_t>(std::clamp(std::nearbyint(in[x]), 0.0F, 255.0F));
}

}  // namespace headrace
#endif
