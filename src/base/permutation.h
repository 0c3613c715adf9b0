// A keyed permutation of [0, n): the i-th element and its inverse in O(1) memory, for any n < 2^63.
//
// The generalised Feistel network of Black and Rogaway ("Ciphers with Arbitrary Finite Domains",
// CT-RSA 2002): i is a place in a grid of `a` rows and b = 2^k columns with a * b just above n; a
// round moves the row by a keyed function of the column, the next the column by one of the row.
//
//      n = 10:   0  1  2  3      rows a = 3: row += f(column)  mod a
//                4  5  6  7      columns b = 4: column ^= f(row)
//                8  9  x  x      x: not in [0, n), put through again (cycle walking)
//
// Fewer than b places are outside [0, n), so the network is hardly ever walked twice. Not for
// secrets: for order. Thread-safety: immutable after construction.
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
  // Eight rounds stand the tests from about 50 elements on. On a handful of them the keyed
  // functions are too small to reach every order equally often before some 24 rounds, which cost
  // nothing there.
  static constexpr size_t kRounds = 8;
  static constexpr size_t kSmallRounds = 24;
  static constexpr uint64_t kSmall = 64;

  /// 64 bits whose upper half depends on every bit of `half` and of the round's key.
  uint64_t scramble(uint64_t half, size_t round) const {
    uint64_t x = (half + keys_[round]) * 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    return x * 0xD6E8FEB86659FD93u;
  }
  uint64_t row_shift(uint64_t column, size_t round) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(scramble(column, round)) * rows_ >>
                                 64);
  }
  uint64_t column_flip(uint64_t row, size_t round) const {
    return scramble(row, round) >> 32 & column_mask_;
  }

  uint64_t forward(uint64_t i) const {
    uint64_t row = i >> column_bits_;
    uint64_t column = i & column_mask_;
    for (size_t round = 0; round < rounds_; round += 2) {
      row += row_shift(column, round);
      if (row >= rows_) row -= rows_;
      column ^= column_flip(row, round + 1);
    }
    return row << column_bits_ | column;
  }

  uint64_t backward(uint64_t i) const {
    uint64_t row = i >> column_bits_;
    uint64_t column = i & column_mask_;
    for (size_t round = rounds_; round > 0; round -= 2) {
      column ^= column_flip(row, round - 1);
      row -= row_shift(column, round - 2);
      if (row >= rows_) row += rows_;  // it went below 0, round 2^64
    }
    return row << column_bits_ | column;
  }

  uint64_t n_ = 0;
  size_t rounds_ = kRounds;
  uint64_t rows_ = 0;
  int column_bits_ = 0;
  uint64_t column_mask_ = 0;
  std::array<uint64_t, kSmallRounds> keys_{};  ///< the first rounds_ of them
};

}  // namespace headrace
