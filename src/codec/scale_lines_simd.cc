// Along the lines, four of them together: with a permutation of 64 bytes where there is one and it
// reaches far enough, else with blocks of 16 bytes, each of another line.
#include <algorithm>
#include <cstring>

#include "codec/resample_passes.h"

// The targets with that permutation, which the library leaves out unless asked.
#define HWY_WANT_AVX3_DL

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/scale_lines_simd.cc"
#include <hwy/foreach_target.h>
//
#include "codec/resample_sums-inl.h"
#include "codec/scale_groups-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

void scale(const Picture& from, const Filter& filter, int width, std::vector<int32_t>&,
           uint8_t* out) {
  scale_lines_plain(from, filter, width, out);
}

#else

// Each block of 128 bits has pixels of another line.
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

/// Four lines at a time, which may be the same one. Reads up to kPast bytes past their ends. The
/// next ones are `ahead` bytes further and are brought near meanwhile.
template <int kChannels>
void scale_four(const uint8_t* const* in, const Filter& filter, const int32_t* pairs, size_t count,
                const uint8_t* orders, int width, size_t ahead, uint8_t* const* out) {
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
    for (size_t i = 0; i < kLines; ++i) hwy::Prefetch(in[i] + at + ahead);
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

/// Calls `scale_four(in, out)` for four lines at a time. What it may read past a line's end lies in
/// the next line; the last one, and lines of a few pixels, it reads from a copy behind `memory`.
template <typename ScaleFour>
void by_four_lines(const Picture& from, size_t past, std::vector<int32_t>& memory,
                   size_t out_stride, uint8_t* out, const ScaleFour& scale_four) {
  const size_t bytes = static_cast<size_t>(from.width) * static_cast<size_t>(from.channels);
  const size_t used = memory.size();
  memory.resize(used + kLines * ((bytes + past) / sizeof(int32_t) + 1));
  auto* copies = reinterpret_cast<uint8_t*>(memory.data() + used);
  const bool reads_on = from.stride >= past;
  for (int y = 0; y < from.height; y += static_cast<int>(kLines)) {
    const uint8_t* lines[kLines];
    uint8_t* to[kLines];
    for (size_t i = 0; i < kLines; ++i) {
      const int line = std::min(y + static_cast<int>(i), from.height - 1);
      lines[i] = from.line(line);
      to[i] = out + static_cast<size_t>(line) * out_stride;
      if (reads_on && line + 1 < from.height) continue;
      uint8_t* copy = copies + i * (bytes + past);
      std::memcpy(copy, lines[i], bytes);
      lines[i] = copy;
    }
    scale_four(lines, to);
  }
}

template <int kChannels>
void scale_all(const Picture& from, const Filter& filter, int width, std::vector<int32_t>& memory,
               uint8_t* out) {
  const size_t out_stride = static_cast<size_t>(width) * kChannels;
#if HWY_TARGET <= HWY_AVX3_DL
  if (groups_fit<kChannels>(filter, width)) {
    const size_t pairs = make_steps<kChannels>(filter, width, memory);
    return by_four_lines(from, past_groups(filter, kChannels), memory, out_stride, out,
                         [&](const uint8_t* const* in, uint8_t* const* to) {
                           scale_groups<kChannels, kLines>(in, filter, memory.data(), pairs, width,
                                                           kLines * from.stride, to);
                         });
  }
#endif
  HWY_ALIGN uint8_t orders[2 * 16 * kBlocks];
  make_order<kChannels>(0, orders);
  make_order<kChannels>(2, orders + 16 * kBlocks);
  const size_t count = pair_up(filter, width, memory);
  by_four_lines(from, kPast, memory, out_stride, out,
                [&](const uint8_t* const* in, uint8_t* const* to) {
                  scale_four<kChannels>(in, filter, memory.data(), count, orders, width,
                                        kLines * from.stride, to);
                });
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
HWY_EXPORT(scale);
}  // namespace

void scale_lines(const Picture& from, const Filter& filter, int width, std::vector<int32_t>& memory,
                 uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(scale)(from, filter, width, memory, out);
}

}  // namespace headrace
#endif
