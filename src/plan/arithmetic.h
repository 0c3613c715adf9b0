// Integer arithmetic that must not overflow: products of two 64-bit counts.
#pragma once

#include <cstdint>

namespace headrace {

/// floor(a b / divisor). Preconditions: divisor > 0, the quotient fits in 64 bits.
inline uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t divisor) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b / divisor);
}

/// ceil(a / divisor). Precondition: divisor > 0.
inline uint64_t divide_up(uint64_t a, uint64_t divisor) {
  return a / divisor + (a % divisor != 0 ? 1 : 0);
}

/// Uniform bits to a number in [0, n).
inline uint64_t scale_bits(uint64_t bits, uint64_t n) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * n >> 64);
}

}  // namespace headrace
