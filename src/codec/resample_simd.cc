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

void scale(const Picture& from, const Filter& filter, int width, std::vector<int32_t>&,
           uint8_t* out) {
  scale_lines_plain(from, filter, width, out);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLowBits = 11;
constexpr int32_t kLowMask = (1 << kLowBits) - 1;

int16_t low(int32_t weight) { return static_cast<int16_t>(weight & kLowMask); }
int16_t high(int32_t weight) { return static_cast<int16_t>(weight >> kLowBits); }

/// Two numbers of 16 bits, the first in the lower half.
int32_t pair_of(int16_t first, int16_t second) {
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

// --- Along the lines -----------------------------------------------------------------------------

// Each block of 128 bits has pixels of another line; four lines go along together.
#if HWY_HAVE_SCALABLE
using Bytes = hn::FixedTag<uint8_t, 16>;
#else
using Bytes = hn::CappedTag<uint8_t, 64>;
#endif
constexpr size_t kLines = 4;
constexpr size_t kBlocks = hn::MaxLanes(Bytes()) / 16;  // of a vector
constexpr size_t kVectors = kLines / kBlocks;
constexpr size_t kLoaded = 4;  // pixels of a line that one load brings
constexpr size_t kPast = 16;   // bytes that may be read past a line's end

/// For each output pixel and pair of weights the high parts, and then the low ones.
size_t pair_up(const Filter& filter, int width, std::vector<int32_t>& pairs) {
  const size_t count = (static_cast<size_t>(filter.taps) + 1) / 2;
  pairs.resize(static_cast<size_t>(width) * count * 2);
  int32_t* out = pairs.data();
  for (int x = 0; x < width; ++x, out += 2 * count) {
    const int32_t* weights = filter.weights_of(x);
    for (int k = 0; k < filter.count(x); k += 2) {
      const int32_t second = k + 1 < filter.count(x) ? weights[k + 1] : 0;
      out[k] = pair_of(high(weights[k]), high(second));
      out[k + 1] = pair_of(low(weights[k]), low(second));
    }
  }
  return count;
}

/// Which bytes of 16 become a block's 16-bit numbers r0 r1 g0 g1 b0 b1 (a0 a1), of the pixels
/// number `first` and `first` + 1; 0x80 makes a zero.
template <int kChannels>
void make_order(size_t first, uint8_t* order) {
  for (size_t block = 0; block < kBlocks; ++block)
    for (size_t c = 0; c < 4; ++c)
      for (size_t pixel = 0; pixel < 2; ++pixel) {
        uint8_t* to = order + block * 16 + c * 4 + pixel * 2;
        to[0] = c < kChannels ? static_cast<uint8_t>((first + pixel) * kChannels + c) : 0x80;
        to[1] = 0x80;
      }
}

/// 16 bytes of each of the next kBlocks lines.
HWY_INLINE hn::Vec<Bytes> load_lines(const uint8_t* const* lines, size_t offset) {
  const hn::FixedTag<uint8_t, 16> d16;
  const auto line = [&](size_t i) { return hn::LoadU(d16, lines[i] + offset); };
#if HWY_HAVE_SCALABLE || HWY_MAX_BYTES == 16
  return line(0);
#else
  const hn::FixedTag<uint8_t, 32> d32;
  const auto two = hn::Combine(d32, line(1), line(0));
#if HWY_MAX_BYTES == 32
  return two;
#else
  return hn::Combine(Bytes(), hn::Combine(d32, line(3), line(2)), two);
#endif
#endif
}

/// Four lines at a time, which may be the same one. Reads up to kPast bytes past their ends.
template <int kChannels>
void scale_four(const uint8_t* const* in, const Filter& filter, const int32_t* pairs, size_t count,
                const uint8_t* orders, int width, uint8_t* const* out) {
  const Bytes d8;
  const hn::RebindToSigned<hn::RepartitionToWide<Bytes> > d16;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const hn::Rebind<uint8_t, decltype(d32)> d8_quarter;
  const auto order0 = hn::LoadU(d8, orders);
  const auto order1 = hn::LoadU(d8, orders + 16 * kBlocks);
  const auto half = hn::Set(d32, kFilterHalf);
  for (int x = 0; x < width; ++x, pairs += 2 * count) {
    const size_t used = (static_cast<size_t>(filter.count(x)) + 1) / 2;
    hn::Vec<decltype(d32)> highs[kVectors], lows[kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      highs[v] = hn::Zero(d32);
      lows[v] = half;
    }
    size_t at = static_cast<size_t>(filter.first(x)) * kChannels;
    for (size_t k = 0; k < used; k += 2, at += kLoaded * kChannels) {
      const bool second = k + 1 < used;
      const int32_t* w = pairs + 2 * k;
      const auto high0 = hn::BitCast(d16, hn::Set(d32, w[0]));
      const auto low0 = hn::BitCast(d16, hn::Set(d32, w[1]));
      const auto high1 = hn::BitCast(d16, hn::Set(d32, second ? w[2] : 0));
      const auto low1 = hn::BitCast(d16, hn::Set(d32, second ? w[3] : 0));
      for (size_t v = 0; v < kVectors; ++v) {
        const auto pixels = load_lines(in + v * kBlocks, at);
        const auto p0 = hn::BitCast(d16, hn::TableLookupBytesOr0(pixels, order0));
        highs[v] = add_pairs(d32, p0, high0, highs[v]);
        lows[v] = add_pairs(d32, p0, low0, lows[v]);
        const auto p1 = hn::BitCast(d16, hn::TableLookupBytesOr0(pixels, order1));
        highs[v] = add_pairs(d32, p1, high1, highs[v]);
        lows[v] = add_pairs(d32, p1, low1, lows[v]);
      }
    }
    HWY_ALIGN uint8_t bytes[4 * kLines];  // a pixel of each line
    for (size_t v = 0; v < kVectors; ++v)
      hn::StoreU(hn::DemoteTo(d8_quarter, whole(highs[v], lows[v])), d8_quarter,
                 bytes + v * kBlocks * 4);
    const size_t to = static_cast<size_t>(x) * kChannels;
    if (kChannels == 4 || x + 1 < width) {
      // The fourth byte is the next pixel's, which comes next.
      for (size_t i = 0; i < kLines; ++i) std::memcpy(out[i] + to, bytes + 4 * i, 4);
    } else {
      for (size_t i = 0; i < kLines; ++i) std::memcpy(out[i] + to, bytes + 4 * i, kChannels);
    }
  }
}

template <int kChannels>
void scale_all(const Picture& from, const Filter& filter, int width, std::vector<int32_t>& memory,
               uint8_t* out) {
  HWY_ALIGN uint8_t orders[2 * 16 * kBlocks];
  make_order<kChannels>(0, orders);
  make_order<kChannels>(2, orders + 16 * kBlocks);
  const size_t count = pair_up(filter, width, memory);
  const size_t out_stride = static_cast<size_t>(width) * kChannels;
  const size_t bytes = static_cast<size_t>(from.width) * kChannels;
  // What is read past a line's end lies in the next line; the last one, and lines of a few pixels,
  // are read from a copy.
  const size_t pairs = memory.size();
  memory.resize(pairs + kLines * ((bytes + kPast) / sizeof(int32_t) + 1));
  auto* copies = reinterpret_cast<uint8_t*>(memory.data() + pairs);
  const bool reads_on = from.stride >= kPast;
  for (int y = 0; y < from.height; y += static_cast<int>(kLines)) {
    const uint8_t* lines[kLines];
    uint8_t* to[kLines];
    for (size_t i = 0; i < kLines; ++i) {
      const int line = std::min(y + static_cast<int>(i), from.height - 1);
      lines[i] = from.line(line);
      to[i] = out + static_cast<size_t>(line) * out_stride;
      if (reads_on && line + 1 < from.height) continue;
      uint8_t* copy = copies + i * (bytes + kPast);
      std::memcpy(copy, lines[i], bytes);
      lines[i] = copy;
    }
    scale_four<kChannels>(lines, filter, memory.data(), count, orders, width, to);
  }
}

void scale(const Picture& from, const Filter& filter, int width, std::vector<int32_t>& memory,
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

void scale_lines(const Picture& from, const Filter& filter, int width, std::vector<int32_t>& memory,
                 uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(scale)(from, filter, width, memory, out);
}

}  // namespace headrace
#endif
