#include "format/parquet/packed_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace headrace::parquet {
namespace {

/// LEB128, off the front.
std::optional<uint64_t> take_varint(ByteView& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto next = std::to_integer<uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    value |= (next & 0x7F) << shift;
    if ((next & 0x80) == 0) return value;
  }
  return std::nullopt;
}

uint64_t unzigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

/// Number `i` of those packed at `width` bits each, from the lowest bit on. Precondition: it lies
/// in `bytes`.
uint64_t packed_at(ByteView bytes, uint64_t i, unsigned width) {
  if (width == 0) return 0;
  const uint64_t bit = i * width;
  const size_t first = bit / 8;
  const unsigned shift = bit % 8;
  uint64_t low = 0;
  if (bytes.size() - first >= sizeof low)
    std::memcpy(&low, bytes.data() + first, sizeof low);
  else
    std::memcpy(&low, bytes.data() + first, bytes.size() - first);
  low >>= shift;
  if (shift + width > 64) low |= std::to_integer<uint64_t>(bytes[first + 8]) << (64 - shift);
  return width == 64 ? low : low & ((uint64_t{1} << width) - 1);
}

std::optional<ByteView> take_bytes(ByteView& bytes, uint64_t count) {
  if (count > bytes.size()) return std::nullopt;
  const ByteView taken = bytes.first(count);
  bytes = bytes.subspan(count);
  return taken;
}

/// A run's head is its count, and in the lowest bit whether it is packed.
bool take_repeated(ByteView& bytes, uint64_t count, unsigned width, std::span<uint32_t>& out) {
  const auto stored = take_bytes(bytes, (width + 7) / 8);
  if (!stored) return false;
  uint32_t value = 0;
  if (!stored->empty()) std::memcpy(&value, stored->data(), stored->size());
  const uint64_t here = std::min<uint64_t>(count, out.size());
  std::ranges::fill(out.first(here), value);
  out = out.subspan(here);
  return true;
}

/// Some writers end the last run where the values end.
bool take_packed(ByteView& bytes, uint64_t groups, unsigned width, std::span<uint32_t>& out) {
  const uint64_t here = std::min<uint64_t>(groups * 8, out.size());
  const uint64_t whole = groups * width;
  const auto stored = take_bytes(bytes, std::min<uint64_t>(whole, bytes.size()));
  if (stored->size() < (here * width + 7) / 8) return false;
  for (uint64_t i = 0; i < here; ++i) out[i] = static_cast<uint32_t>(packed_at(*stored, i, width));
  out = out.subspan(here);
  return true;
}

}  // namespace

unsigned bits_for(uint32_t most) { return static_cast<unsigned>(std::bit_width(most)); }

bool unpack_runs(ByteView bytes, unsigned width, std::span<uint32_t> out) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  while (!out.empty()) {
    const auto head = take_varint(bytes);
    if (!head || *head >> 1 == 0 || *head >> 1 > kMost) return false;
    const bool taken = (*head & 1) != 0 ? take_packed(bytes, *head >> 1, width, out)
                                        : take_repeated(bytes, *head >> 1, width, out);
    if (!taken) return false;
  }
  return true;
}

std::optional<std::vector<uint64_t>> take_deltas(ByteView& bytes, uint64_t count) {
  constexpr uint64_t kMostInBlock = 1 << 20;
  const auto in_block = take_varint(bytes);
  const auto parts = take_varint(bytes);
  const auto all = take_varint(bytes);
  const auto first = take_varint(bytes);
  if (!in_block || !parts || !all || !first || *all != count || *parts == 0 ||
      *in_block > kMostInBlock || *in_block % *parts != 0 || *in_block / *parts % 8 != 0 ||
      *in_block == 0)
    return std::nullopt;
  const uint64_t in_part = *in_block / *parts;
  std::vector<uint64_t> out;
  out.reserve(std::min<uint64_t>(count, 64 * bytes.size()));
  uint64_t value = unzigzag(*first);
  if (count > 0) out.push_back(value);
  while (out.size() < count) {
    const auto least = take_varint(bytes);
    const auto widths = take_bytes(bytes, *parts);
    if (!least || !widths) return std::nullopt;
    for (uint64_t part = 0; part < *parts && out.size() < count; ++part) {
      const auto width = std::to_integer<unsigned>((*widths)[part]);
      const auto packed = width > 64 ? std::nullopt : take_bytes(bytes, in_part / 8 * width);
      if (!packed) return std::nullopt;
      const uint64_t here = std::min<uint64_t>(in_part, count - out.size());
      for (uint64_t i = 0; i < here; ++i)
        out.push_back(value += unzigzag(*least) + packed_at(*packed, i, width));
    }
  }
  return out;
}

}  // namespace headrace::parquet
