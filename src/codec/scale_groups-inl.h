// Along the lines with a permutation of 64 bytes (AVX-512 VBMI). A vector holds 16 sums, of a group
// of neighbouring pixels: five of RGB, or four of RGBA. One permutation of the line's bytes brings
// each sum the next two numbers that it weighs, with zeros between:
//
//   line       r0 g0 b0 r1 g1 b1 r2 g2 b2 r3 …
//   permuted   r0 r1   g0 g1   b0 b1   r1 r2   g1 g2   b1 b2   r3 r4 …
//              the first pixel's sums  the second one's sums
//
// For each target; does nothing where the instructions are missing.
#if defined(HEADRACE_SCALE_GROUPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_SCALE_GROUPS_INL_H
#undef HEADRACE_SCALE_GROUPS_INL_H
#else
#define HEADRACE_SCALE_GROUPS_INL_H
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <vector>

#include "codec/resample_sums-inl.h"

#if HWY_TARGET <= HWY_AVX3_DL

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

inline constexpr size_t kSums = 16;
inline constexpr size_t kGroupBytes = 64;  // of a line that one load brings

template <int kChannels>
inline constexpr int kGroup = static_cast<int>(kSums) / kChannels;  // pixels

/// What two numbers of each sum need: where they are in 64 bytes, and their weights' parts.
struct GroupStep {
  static constexpr size_t kNumbers = 3 * kSums;

  explicit GroupStep(int32_t* at) : order(at), high(at + kSums), low(at + 2 * kSums) {}

  int32_t* order;
  int32_t* high;
  int32_t* low;
};

/// Whether the numbers of each group lie near enough together.
template <int kChannels>
bool groups_fit(const Filter& filter, int width) {
  constexpr int kReach = static_cast<int>(kGroupBytes) / kChannels - 2;
  for (int x = 0; x < width; x += kGroup<kChannels>) {
    const int last = std::min(x + kGroup<kChannels>, width) - 1;
    if (filter.first(last) - filter.first(x) > kReach) return false;
  }
  return true;
}

/// The steps of all groups into `memory`; answers how many each has.
template <int kChannels>
size_t make_steps(const Filter& filter, int width, std::vector<int32_t>& memory) {
  int most = 1;
  for (int x = 0; x < width; ++x) most = std::max(most, filter.count(x));
  const int pairs = (most + 1) / 2;
  const int groups = (width + kGroup<kChannels> - 1) / kGroup<kChannels>;
  memory.assign(GroupStep::kNumbers * static_cast<size_t>(groups) * static_cast<size_t>(pairs), 0);
  int32_t* at = memory.data();
  for (int begin = 0; begin < width; begin += kGroup<kChannels>)
    for (int k = 0; k < 2 * pairs; k += 2, at += GroupStep::kNumbers) {
      const GroupStep step(at);
      const int end = std::min(begin + kGroup<kChannels>, width);
      for (int x = begin; x < end; ++x) {
        const int32_t* weights = filter.weights_of(x);
        const int32_t first = k < filter.count(x) ? weights[k] : 0;
        const int32_t second = k + 1 < filter.count(x) ? weights[k + 1] : 0;
        const int from = (filter.first(x) - filter.first(begin)) * kChannels;
        for (int c = 0; c < kChannels; ++c) {
          const int sum = (x - begin) * kChannels + c;
          step.order[sum] = from + c + (from + kChannels + c) * 65536;
          step.high[sum] = pair_of(high(first), high(second));
          step.low[sum] = pair_of(low(first), low(second));
        }
      }
    }
  return static_cast<size_t>(pairs);
}

/// How far past a line's end is read: the last group may have fewer weights than others.
inline size_t past_groups(const Filter& filter, int channels) {
  return kGroupBytes + static_cast<size_t>(filter.taps) * static_cast<size_t>(channels);
}

/// kLines lines at a time, which may be the same one. Reads up to past_groups beyond their ends.
/// The next ones are `ahead` bytes further; with them brought near meanwhile it takes half of the
/// time.
template <int kChannels, size_t kLines>
void scale_groups(const uint8_t* const* in, const Filter& filter, const int32_t* steps,
                  size_t pairs, int width, size_t ahead, uint8_t* const* out) {
  constexpr __mmask64 kLowBytes = 0x5555555555555555;
  const hn::FixedTag<int32_t, kSums> d32;
  const hn::RepartitionToNarrow<decltype(d32)> d16;
  using Sums = hn::Vec<decltype(d32)>;
  using Numbers = hn::Vec<decltype(d16)>;
  const hn::Rebind<uint8_t, decltype(d32)> d8;
  for (int x = 0; x < width; x += kGroup<kChannels>) {
    Sums highs[kLines], lows[kLines];
    for (size_t i = 0; i < kLines; ++i) {
      highs[i] = hn::Zero(d32);
      lows[i] = hn::Set(d32, kFilterHalf);
    }
    size_t at = static_cast<size_t>(filter.first(x)) * kChannels;
    for (size_t i = 0; i < kLines; ++i) hwy::Prefetch(in[i] + at + ahead);
    for (size_t k = 0; k < pairs; ++k, at += 2 * kChannels, steps += GroupStep::kNumbers) {
      const auto order = hn::LoadU(d32, steps);
      const auto high = hn::BitCast(d16, hn::LoadU(d32, steps + kSums));
      const auto low = hn::BitCast(d16, hn::LoadU(d32, steps + 2 * kSums));
      for (size_t i = 0; i < kLines; ++i) {
        const Numbers numbers{
            _mm512_maskz_permutexvar_epi8(kLowBytes, order.raw, _mm512_loadu_si512(in[i] + at))};
        highs[i] = add_pairs(d32, numbers, high, highs[i]);
        lows[i] = add_pairs(d32, numbers, low, lows[i]);
      }
    }
    const int pixels = std::min(kGroup<kChannels>, width - x);
    const auto made = hn::FirstN(d8, static_cast<size_t>(pixels * kChannels));
    const size_t to = static_cast<size_t>(x) * kChannels;
    for (size_t i = 0; i < kLines; ++i)
      hn::BlendedStore(hn::DemoteTo(d8, whole(highs[i], lows[i])), made, d8, out[i] + to);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#endif
#endif
