#include "base/permutation.h"

#include <bit>

namespace headrace {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

uint64_t finalise(uint64_t x) {  // SplitMix64's output function (Steele, Lea, Flood 2014)
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t mix(uint64_t a, uint64_t b) { return finalise(finalise(a + kGolden) + b * kGolden + 1); }

Permutation::Permutation(uint64_t n, uint64_t key) : n_(n) {
  if (n == 0) return;
  column_bits_ = static_cast<int>(std::bit_width(n - 1)) / 2;
  column_mask_ = (uint64_t{1} << column_bits_) - 1;
  rows_ = ((n - 1) >> column_bits_) + 1;
  rounds_ = n <= kSmall ? kSmallRounds : kRounds;
  for (size_t round = 0; round < rounds_; ++round) keys_[round] = mix(key, round + 1);
}

}  // namespace headrace
