// Vectors of 16-bit products, added in pairs to 32 bits (x86's pmaddwd). A weight of 22 bits and a
// sign is parted into two of 16, w = high * 2^11 + low, so that no product is rounded.
#include <algorithm>
#include <cstring>

#include "codec/resample_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/resample_simd.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

void blend(const uint8_t* first, size_t stride, const int32_t* weights, int count, size_t bytes,
           uint8_t* out) {
  blend_lines_plain(first, stride, weights, count, bytes, out);
}

void scale(const Picture& from, const Filter& filter, int width, std::vector<int16_t>&,
           uint8_t* out) {
  scale_lines_plain(from, filter, width, out);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLowBits = 11;
constexpr int32_t kLowMask = (1 << kLowBits) - 1;

int16_t low(int32_t weight) { return static_cast<int16_t>(weight & kLowMask); }
int16_t high(int32_t weight) { return static_cast<int16_t>(weight >> kLowBits); }

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

// --- Down the columns ----------------------------------------------------------------------------

/// A vector of bytes of the output, in four vectors of 32-bit sums.
void blend(const uint8_t* first, size_t stride, const int32_t* weights, int count, size_t bytes,
           uint8_t* out) {
  const hn::ScalableTag<uint8_t> d8;
  const hn::RepartitionToWide<decltype(d8)> du16;
  const hn::RebindToSigned<decltype(du16)> d16;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const size_t n = hn::Lanes(d8);
  const auto zero = hn::Zero(d8);
  size_t x = 0;
  for (; x + n <= bytes; x += n) {
    const auto half = hn::Set(d32, kFilterHalf);
    auto l0 = half, l1 = half, l2 = half, l3 = half;
    auto h0 = hn::Zero(d32), h1 = h0, h2 = h0, h3 = h0;
    for (int k = 0; k < count; k += 2) {
      const bool has_second = k + 1 < count;
      const int32_t w1 = has_second ? weights[k + 1] : 0;
      const auto high_pair = hn::BitCast(
          d16, hn::Set(d32, static_cast<int32_t>(static_cast<uint16_t>(high(weights[k]))) |
                                static_cast<int32_t>(high(w1)) * 65536));
      const auto low_pair =
          hn::BitCast(d16, hn::Set(d32, static_cast<int32_t>(low(weights[k])) |
                                            static_cast<int32_t>(low(w1)) * 65536));
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
  if (x < bytes) blend_lines_plain(first + x, stride, weights, count, bytes - x, out + x);
}

// --- Along the lines -----------------------------------------------------------------------------

// Blocks of 128 bits hold two pixels each; x86 has one or two blocks here, others one.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
constexpr size_t kBlocks = 2;
#else
constexpr size_t kBlocks = 1;
#endif
constexpr size_t kPixels = 2 * kBlocks;   // of one step
constexpr size_t kWeights = 8 * kBlocks;  // 16-bit ones of one step
constexpr size_t kPast = 16;              // bytes that may be read past a line's end
using Bytes = hn::FixedTag<uint8_t, 16 * kBlocks>;

/// For each output pixel and step the high weights and then the low ones, as add_pairs wants them:
/// w0 w1 w0 w1 w0 w1 w0 w1 | w2 w3 w2 w3 …
size_t spread(const Filter& filter, int width, std::vector<int16_t>& memory) {
  const size_t steps = (static_cast<size_t>(filter.taps) + kPixels - 1) / kPixels;
  memory.assign(static_cast<size_t>(width) * steps * 2 * kWeights, 0);
  int16_t* out = memory.data();
  for (int x = 0; x < width; ++x, out += steps * 2 * kWeights) {
    const int32_t* weights = filter.weights_of(x);
    for (int k = 0; k < filter.count(x); ++k) {
      const auto tap = static_cast<size_t>(k);
      int16_t* step = out + tap / kPixels * 2 * kWeights + tap % kPixels / 2 * 8 + tap % 2;
      for (size_t c = 0; c < 8; c += 2) {
        step[c] = high(weights[k]);
        step[c + kWeights] = low(weights[k]);
      }
    }
  }
  return steps;
}

/// Which bytes of 16 become a block's 16-bit numbers r0 r1 g0 g1 b0 b1 (a0 a1); 0x80 makes a zero.
template <int kChannels>
void make_order(uint8_t* order) {
  for (size_t block = 0; block < kBlocks; ++block)
    for (size_t c = 0; c < 4; ++c)
      for (size_t pixel = 0; pixel < 2; ++pixel) {
        uint8_t* to = order + block * 16 + c * 4 + pixel * 2;
        to[0] = c < kChannels ? static_cast<uint8_t>((2 * block + pixel) * kChannels + c) : 0x80;
        to[1] = 0x80;
      }
}

/// Two lines at a time: `in` + `stride` is the second one. Reads up to kPast bytes past their ends.
template <int kChannels>
void scale_two(const uint8_t* in, size_t stride, const Filter& filter, const int16_t* weights,
               size_t steps, const uint8_t* order_bytes, int width, uint8_t* out,
               size_t out_stride) {
  const Bytes d8;
  const hn::RepartitionToWide<Bytes> du16;
  const hn::RebindToSigned<decltype(du16)> d16;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const auto order = hn::LoadU(d8, order_bytes);
  const hn::FixedTag<int32_t, 4> d32x4;
  const hn::FixedTag<int16_t, 8> d16x8;
  const hn::FixedTag<uint8_t, 8> d8x8;
  for (int x = 0; x < width; ++x) {
    const uint8_t* pixel = in + static_cast<size_t>(filter.first(x)) * kChannels;
    auto h0 = hn::Zero(d32), l0 = h0, h1 = h0, l1 = h0;
    const auto used = (static_cast<size_t>(filter.count(x)) + kPixels - 1) / kPixels;
    const int16_t* w = weights + static_cast<size_t>(x) * steps * 2 * kWeights;
    for (size_t k = 0; k < used; ++k, w += 2 * kWeights, pixel += kPixels * kChannels) {
      const auto high_pairs = hn::LoadU(d16, w);
      const auto low_pairs = hn::LoadU(d16, w + kWeights);
      const auto p0 = hn::BitCast(d16, hn::TableLookupBytesOr0(hn::LoadDup128(d8, pixel), order));
      const auto p1 =
          hn::BitCast(d16, hn::TableLookupBytesOr0(hn::LoadDup128(d8, pixel + stride), order));
      h0 = add_pairs(d32, p0, high_pairs, h0);
      l0 = add_pairs(d32, p0, low_pairs, l0);
      h1 = add_pairs(d32, p1, high_pairs, h1);
      l1 = add_pairs(d32, p1, low_pairs, l1);
    }
    const auto sum0 = hn::Add(hn::ShiftLeft<kLowBits>(h0), l0);
    const auto sum1 = hn::Add(hn::ShiftLeft<kLowBits>(h1), l1);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    const auto first = hn::Add(hn::LowerHalf(d32x4, sum0), hn::UpperHalf(d32x4, sum0));
    const auto second = hn::Add(hn::LowerHalf(d32x4, sum1), hn::UpperHalf(d32x4, sum1));
#else
    const auto first = sum0;
    const auto second = sum1;
#endif
    const auto half = hn::Set(d32x4, kFilterHalf);
    const auto shorts =
        hn::ReorderDemote2To(d16x8, hn::ShiftRight<kFilterPrecision>(hn::Add(first, half)),
                             hn::ShiftRight<kFilterPrecision>(hn::Add(second, half)));
    HWY_ALIGN uint8_t bytes[8];
    hn::Store(hn::DemoteTo(d8x8, shorts), d8x8, bytes);
    uint8_t* to = out + static_cast<size_t>(x) * kChannels;
    if (kChannels == 4 || x + 1 < width) {
      std::memcpy(to, bytes, 4);  // the fourth byte is the next pixel's, which comes next
      std::memcpy(to + out_stride, bytes + 4, 4);
    } else {
      std::memcpy(to, bytes, kChannels);
      std::memcpy(to + out_stride, bytes + 4, kChannels);
    }
  }
}

template <int kChannels>
void scale_all(const Picture& from, const Filter& filter, int width, std::vector<int16_t>& memory,
               uint8_t* out) {
  HWY_ALIGN uint8_t order[16 * kBlocks];
  make_order<kChannels>(order);
  const size_t steps = spread(filter, width, memory);
  const size_t out_stride = static_cast<size_t>(width) * kChannels;
  const size_t bytes = static_cast<size_t>(from.width) * kChannels;
  // What is read past a line's end lies in the next line; the last one, and lines of a few pixels,
  // are read from a copy.
  const int last = from.stride >= kPast ? from.height - 1 : 0;
  int y = 0;
  for (; y + 2 <= last; y += 2)
    scale_two<kChannels>(from.line(y), from.stride, filter, memory.data(), steps, order, width,
                         out + static_cast<size_t>(y) * out_stride, out_stride);
  const size_t weights = memory.size();
  memory.resize(weights + (bytes + kPast) / sizeof(int16_t) + 1);
  auto* copy = reinterpret_cast<uint8_t*>(memory.data() + weights);
  for (; y < from.height; ++y) {
    std::memcpy(copy, from.line(y), bytes);
    scale_two<kChannels>(copy, 0, filter, memory.data(), steps, order, width,
                         out + static_cast<size_t>(y) * out_stride, 0);
  }
}

void scale(const Picture& from, const Filter& filter, int width, std::vector<int16_t>& memory,
           uint8_t* out) {
  if (from.channels == 3) return scale_all<3>(from, filter, width, memory, out);
  if (from.channels == 4) return scale_all<4>(from, filter, width, memory, out);
  scale_lines_plain(from, filter, width, out);
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
HWY_EXPORT(scale);
}  // namespace

void blend_lines(const uint8_t* first, size_t stride, const int32_t* weights, int count,
                 size_t bytes, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(blend)(first, stride, weights, count, bytes, out);
}

void scale_lines(const Picture& from, const Filter& filter, int width, std::vector<int16_t>& memory,
                 uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(scale)(from, filter, width, memory, out);
}

}  // namespace headrace
#endif
