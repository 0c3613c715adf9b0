#include "format/tar_fields.h"

#include "base/little_endian.h"

namespace headrace {
namespace {

constexpr uint32_t kSpaces = 8 * ' ';

std::optional<uint64_t> base256(ByteView digits) {
  uint64_t value = std::to_integer<uint64_t>(digits[0]) & 0x7f;
  for (const std::byte digit : digits.subspan(1)) {
    if (value >> 55) return std::nullopt;  // 63 bits would not hold it; also every negative number
    value = value << 8 | std::to_integer<uint64_t>(digit);
  }
  return value;
}

}  // namespace

std::string_view tar_text(ByteView block, TarField field) {
  const std::string_view text = as_text(block.subspan(field.offset, field.size));
  return text.substr(0, text.find('\0'));
}

std::optional<uint64_t> tar_number(ByteView block, TarField field) {
  const ByteView bytes = block.subspan(field.offset, field.size);
  if (std::to_integer<unsigned>(bytes[0]) & 0x80) return base256(bytes);
  const std::string_view text = as_text(bytes);
  size_t i = 0;
  while (i < text.size() && text[i] == ' ') ++i;
  uint64_t value = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '7'; ++i)
    value = value << 3 | static_cast<uint64_t>(text[i] - '0');
  if (i < text.size() && text[i] != ' ' && text[i] != '\0') return std::nullopt;
  return value;
}

uint32_t tar_byte_sum(ByteView block) {
  // Four 16-bit sums a word, even and odd bytes apart: 64 words of at most 255 do not overflow.
  constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
  uint64_t even = 0;
  uint64_t odd = 0;
  for (size_t i = 0; i < kTarBlock; i += 8) {
    const auto word = load_le<uint64_t>(block.data() + i);
    even += word & kEven;
    odd += word >> 8 & kEven;
  }
  uint32_t sum = 0;
  for (int shift = 0; shift < 64; shift += 16)
    sum += static_cast<uint32_t>((even >> shift & 0xffff) + (odd >> shift & 0xffff));
  return sum;
}

uint32_t tar_checksum(ByteView block, uint32_t byte_sum) {
  for (const std::byte byte : block.subspan(kTarChecksum.offset, kTarChecksum.size))
    byte_sum -= std::to_integer<uint32_t>(byte);
  return byte_sum + kSpaces;
}

int32_t tar_signed_checksum(ByteView block) {
  int32_t sum = static_cast<int32_t>(kSpaces);
  for (size_t i = 0; i < kTarBlock; ++i) {
    if (i - kTarChecksum.offset < kTarChecksum.size) continue;
    sum += static_cast<signed char>(block[i]);
  }
  return sum;
}

}  // namespace headrace
