// Fixed-width big-endian integers in byte buffers, as network formats have them.
#pragma once

#include <cstdint>

#include "base/little_endian.h"

namespace headrace {

inline uint32_t load_be32(const std::byte* from) {
  return __builtin_bswap32(load_le<uint32_t>(from));
}

inline void store_be32(std::byte* to, uint32_t value) {
  const uint32_t swapped = __builtin_bswap32(value);
  std::memcpy(to, &swapped, sizeof swapped);
}

}  // namespace headrace
