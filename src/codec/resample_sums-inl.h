// Sums of weighted bytes in vectors of 16-bit products, added in pairs to 32 bits (x86's pmaddwd).
// A weight of 22 bits and a sign is parted into two of 16, w = high * 2^11 + low, so that no
// product is rounded.
#if defined(HEADRACE_RESAMPLE_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_RESAMPLE_SUMS_INL_H
#undef HEADRACE_RESAMPLE_SUMS_INL_H
#else
#define HEADRACE_RESAMPLE_SUMS_INL_H
#endif

#include <hwy/highway.h>

#include "codec/resample_passes.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kLowBits = 11;
inline constexpr int32_t kLowMask = (1 << kLowBits) - 1;

HWY_INLINE int16_t low(int32_t weight) { return static_cast<int16_t>(weight & kLowMask); }
HWY_INLINE int16_t high(int32_t weight) { return static_cast<int16_t>(weight >> kLowBits); }

/// Two numbers of 16 bits, the first in the lower half.
HWY_INLINE int32_t pair_of(int16_t first, int16_t second) {
  return static_cast<int32_t>(static_cast<uint16_t>(first)) | static_cast<int32_t>(second) * 65536;
}

/// sum[i] + a[2i] * b[2i] + a[2i + 1] * b[2i + 1].
template <class D32, class V16, class V32>
HWY_INLINE V32 add_pairs(D32 d32, V16 a, V16 b, V32 sum) {
#if HWY_ARCH_X86
  V32 unused = hn::Zero(d32);
  return hn::ReorderWidenMulAccumulate(d32, a, b, sum, unused);
#else
  const auto a32 = hn::BitCast(d32, a);
  const auto b32 = hn::BitCast(d32, b);
  const auto even = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a32)),
                            hn::ShiftRight<16>(hn::ShiftLeft<16>(b32)));
  const auto odd = hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32));
  return hn::Add(sum, hn::Add(even, odd));
#endif
}

/// Both parts of a sum, rounded and without the bits behind the point.
template <class V32>
HWY_INLINE V32 whole(V32 high_sum, V32 low_sum) {
  return hn::ShiftRight<kFilterPrecision>(hn::Add(hn::ShiftLeft<kLowBits>(high_sum), low_sum));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#endif
