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
  const int bits = n <= 1 ? 0 : static_cast<int>(std::bit_width(n - 1));
  half_bits_ = (bits + 1) / 2;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
  for (int r = 0; r < kRounds; ++r)
    keys_[static_cast<size_t>(r)] = mix(key, static_cast<uint64_t>(r) + 1);
}

uint64_t Permutation::round(uint64_t half, int r) const {
  const uint64_t x = (half + keys_[static_cast<size_t>(r)]) * 0xD6E8FEB86659FD93u;
  return ((x ^ (x >> 32)) * 0xD6E8FEB86659FD93u) >> 32 & half_mask_;
}

uint64_t Permutation::forward(uint64_t i) const {
  uint64_t left = i >> half_bits_;
  uint64_t right = i & half_mask_;
  for (int r = 0; r < kRounds; ++r) {
    const uint64_t next = left ^ round(right, r);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint64_t Permutation::backward(uint64_t i) const {
  uint64_t left = i >> half_bits_;
  uint64_t right = i & half_mask_;
  for (int r = kRounds - 1; r >= 0; --r) {
    const uint64_t previous = right ^ round(left, r);
    right = left;
    left = previous;
  }
  return left << half_bits_ | right;
}

}  // namespace headrace
