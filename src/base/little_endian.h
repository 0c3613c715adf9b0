// Fixed-width little-endian integers in byte buffers: the number format of every binary file here.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

namespace headrace {

static_assert(
    std::endian::native == std::endian::little,
    "a big-endian machine needs byte swaps here, and in the column views that rely on it");

/// Reads a T at `from`, which needs no alignment.
template <typename T>
T load_le(const std::byte* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Appends a T.
template <typename T>
void append_le(std::string& out, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace headrace
