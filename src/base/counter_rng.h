// Counter-based randomness: numbers are a pure function of (seed, epoch, position, op), whatever
// thread draws them and in whatever order rows are made.
//
// The four words are mixed into one key, and draw number i is mix(key, i): SplitMix64's finaliser
// (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), twice.
// Not for secrets. Thread-safety: a plain value; every row has its own.
#pragma once

#include <cstdint>

#include "base/permutation.h"

namespace headrace {

class CounterRng {
 public:
  CounterRng(uint64_t seed, uint64_t epoch, uint64_t position, uint64_t op)
      : key_(mix(mix(mix(seed, epoch), position), op)) {}

  /// 64 uniform bits; the next draw.
  uint64_t bits() { return mix(key_, draw_++); }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// Uniform in [0, n), without bias. Precondition: n > 0.
  uint64_t below(uint64_t n) {
    // Lemire, "Fast Random Integer Generation in an Interval", 2019: the high half of bits * n,
    // drawn again in the few cases that would favour small results.
    const uint64_t reject_under = (0 - n) % n;
    for (;;) {
      const unsigned __int128 product = static_cast<unsigned __int128>(bits()) * n;
      if (static_cast<uint64_t>(product) >= reject_under)
        return static_cast<uint64_t>(product >> 64);
    }
  }

 private:
  uint64_t key_;
  uint64_t draw_ = 0;
};

}  // namespace headrace
