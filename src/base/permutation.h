// A keyed permutation of [0, n): the i-th element and its inverse in O(1) memory, for any n < 2^63.
//
// A balanced Feistel network over the smallest even number of bits that holds n, with cycle
// walking: an image outside [0, n) is put through again, which keeps it a bijection of [0, n)
// (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). The domain is less
// than 4 n, so fewer than 4 trips are expected. Not for secrets: for order.
//
// Thread-safety: immutable after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace {

/// Mixes two words into one; the base of every key in the order (SplitMix64's finaliser, twice).
uint64_t mix(uint64_t a, uint64_t b);

class Permutation {
 public:
  /// The identity on nothing.
  Permutation() = default;
  Permutation(uint64_t n, uint64_t key);

  uint64_t size() const { return n_; }

  /// Where element i goes. Precondition: i < size().
  uint64_t operator()(uint64_t i) const {
    do i = forward(i);
    while (i >= n_);
    return i;
  }

  /// The i with (*this)(i) == image. Precondition: image < size().
  uint64_t inverse(uint64_t image) const {
    do image = backward(image);
    while (image >= n_);
    return image;
  }

 private:
  static constexpr int kRounds = 6;

  uint64_t round(uint64_t half, int r) const;
  uint64_t forward(uint64_t i) const;
  uint64_t backward(uint64_t i) const;

  uint64_t n_ = 0;
  int half_bits_ = 0;
  uint64_t half_mask_ = 0;
  std::array<uint64_t, kRounds> keys_{};
};

}  // namespace headrace
