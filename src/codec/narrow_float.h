// One float as a float of 16 bits, rounded to nearest, half to even. Whole lines: pixel_lines.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace headrace {

inline uint16_t to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t size = bits & 0x7FFFFFFF;
  if (size > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);  // not a number
  // Below 2^-14 all numbers are 2^-24 apart, as floats are from 0.5 on: the sum rounds them.
  const float sum = std::fabs(value) + 0.5f;
  if (std::fabs(value) < 0x1p-14f)
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3F000000));
  // From the exponent of f32 to that of f16, and from 23 bits of fraction to 10.
  const uint32_t rounded = (size - (112u << 23) + 0xFFF + (size >> 13 & 1)) >> 13;
  return static_cast<uint16_t>(sign | std::min(rounded, 0x7C00u));
}

inline uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline float from_f16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t size = bits & 0x7FFFu;
  if (size >= 0x7C00)  // infinite or not a number
    return std::bit_cast<float>(sign | 0x7F800000 | (size & 0x3FF) << 13);
  // The exponent is 112 less; the product is exact, also for the smallest numbers.
  return std::bit_cast<float>(sign |
                              std::bit_cast<uint32_t>(std::bit_cast<float>(size << 13) * 0x1p112f));
}

}  // namespace headrace
