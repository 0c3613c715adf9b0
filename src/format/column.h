// A packed column of integers: the smallest value, and each value's distance from it in as few
// bytes as the largest distance needs. A constant column takes 9 bytes, however long it is.
//
//   | base: u64 | width: u8 = 0, 1, 2, 4 or 8 | count x width bytes, little-endian |
//
// Values are 64-bit words compared as signed numbers; value = base + distance modulo 2^64. The
// count is not stored: whoever reads the column knows it from elsewhere. Thread-safety: a writer is
// a pure function; a Column is a view, as valid as the bytes under it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/little_endian.h"
#include "headrace/bytes.h"

namespace headrace {

inline constexpr size_t kColumnHeaderBytes = 9;

/// Appends a column; `min_width` 1 keeps a constant column from taking no bytes a value.
void append_column(std::string& out, std::span<const uint64_t> values, unsigned min_width = 0);

class Column64 {
 public:
  /// Takes a column of `count` values off the front of `bytes`. Nothing if it does not fit there,
  /// its width is none of the five or is below `min_width`.
  static std::optional<Column64> take(ByteView& bytes, uint64_t count, unsigned min_width = 0);

  /// Precondition: i < count.
  uint64_t operator[](uint64_t i) const {
    switch (width_) {
      case 0:
        return base_;
      case 1:
        return base_ + load_le<uint8_t>(data_ + i);
      case 2:
        return base_ + load_le<uint16_t>(data_ + 2 * i);
      case 4:
        return base_ + load_le<uint32_t>(data_ + 4 * i);
      default:
        return base_ + load_le<uint64_t>(data_ + 8 * i);
    }
  }

 private:
  uint64_t base_ = 0;
  unsigned width_ = 0;
  const std::byte* data_ = nullptr;
};

}  // namespace headrace
