// Down the columns: a vector of bytes of the output, in four vectors of 32-bit sums.
#include <algorithm>
#include <cstring>

#include "codec/resample_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/blend_lines_simd.cc"
#include <hwy/foreach_target.h>
//
#include "codec/resample_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

void blend(const uint8_t* first, size_t stride, const int32_t* weights, int count, size_t bytes,
           uint8_t* out) {
  blend_lines_plain(first, stride, weights, count, bytes, out);
}

#else

/// In each block of 128 bits the eight numbers of `lower` and then those of `upper`, as bytes.
template <class D8, class V16>
HWY_INLINE auto pack(D8 d8, V16 lower, V16 upper) {
  const hn::RebindToSigned<hn::RepartitionToWide<D8> > d16;
  constexpr uint8_t kNone = 0x80;
  HWY_ALIGN static constexpr uint8_t kEven[16] = {
      0, 2, 4, 6, 8, 10, 12, 14, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  HWY_ALIGN static constexpr uint8_t kEvenAbove[16] = {
      kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0, 2, 4, 6, 8, 10, 12, 14};
  const auto bounded = [&](V16 v) {
    const auto top = hn::Set(d16, int16_t{255});
    return hn::BitCast(d8, hn::Min(hn::Max(v, hn::Zero(d16)), top));
  };
  return hn::Or(hn::TableLookupBytesOr0(bounded(lower), hn::LoadDup128(d8, kEven)),
                hn::TableLookupBytesOr0(bounded(upper), hn::LoadDup128(d8, kEvenAbove)));
}

void blend(const uint8_t* first, size_t stride, const int32_t* weights, int count, size_t bytes,
           uint8_t* out) {
  const hn::ScalableTag<uint8_t> d8;
  const hn::RepartitionToWide<decltype(d8)> du16;
  const hn::RebindToSigned<decltype(du16)> d16;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const size_t n = hn::Lanes(d8);
  const auto zero = hn::Zero(d8);
  if (bytes < n) return blend_lines_plain(first, stride, weights, count, bytes, out);
  for (size_t begin = 0; begin < bytes; begin += n) {
    const size_t x = std::min(begin, bytes - n);  // the last one is made twice in part
    const auto half = hn::Set(d32, kFilterHalf);
    auto l0 = half, l1 = half, l2 = half, l3 = half;
    auto h0 = hn::Zero(d32), h1 = h0, h2 = h0, h3 = h0;
    for (int k = 0; k < count; k += 2) {
      const bool has_second = k + 1 < count;
      const int32_t w1 = has_second ? weights[k + 1] : 0;
      const auto high_pair = hn::BitCast(d16, hn::Set(d32, pair_of(high(weights[k]), high(w1))));
      const auto low_pair = hn::BitCast(d16, hn::Set(d32, pair_of(low(weights[k]), low(w1))));
      const uint8_t* line = first + static_cast<size_t>(k) * stride + x;
      const auto a = hn::LoadU(d8, line);
      const auto b = has_second ? hn::LoadU(d8, line + stride) : a;
      const auto ab_lower = hn::InterleaveLower(d8, a, b);
      const auto ab_upper = hn::InterleaveUpper(d8, a, b);
      const auto p0 = hn::BitCast(d16, hn::InterleaveLower(d8, ab_lower, zero));
      const auto p1 = hn::BitCast(d16, hn::InterleaveUpper(d8, ab_lower, zero));
      const auto p2 = hn::BitCast(d16, hn::InterleaveLower(d8, ab_upper, zero));
      const auto p3 = hn::BitCast(d16, hn::InterleaveUpper(d8, ab_upper, zero));
      l0 = add_pairs(d32, p0, low_pair, l0);
      h0 = add_pairs(d32, p0, high_pair, h0);
      l1 = add_pairs(d32, p1, low_pair, l1);
      h1 = add_pairs(d32, p1, high_pair, h1);
      l2 = add_pairs(d32, p2, low_pair, l2);
      h2 = add_pairs(d32, p2, high_pair, h2);
      l3 = add_pairs(d32, p3, low_pair, l3);
      h3 = add_pairs(d32, p3, high_pair, h3);
    }
    // Interleaved and packed block by block, so the order is the old one again.
    const auto lower = hn::ReorderDemote2To(d16, whole(h0, l0), whole(h1, l1));
    const auto upper = hn::ReorderDemote2To(d16, whole(h2, l2), whole(h3, l3));
    hn::StoreU(pack(d8, lower, upper), d8, out + x);
  }
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {
namespace {
HWY_EXPORT(blend);
}  // namespace

void blend_lines(const uint8_t* first, size_t stride, const int32_t* weights, int count,
                 size_t bytes, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(blend)(first, stride, weights, count, bytes, out);
}

}  // namespace headrace
#endif
