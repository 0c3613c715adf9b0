#include "format/column.h"

#include <algorithm>

namespace headrace {
namespace {

unsigned width_of(uint64_t largest) {
  if (largest == 0) return 0;
  if (largest <= 0xff) return 1;
  if (largest <= 0xffff) return 2;
  if (largest <= 0xffff'ffff) return 4;
  return 8;
}

template <typename T>
void append_values(std::string& out, std::span<const uint64_t> values, uint64_t base) {
  const size_t at = out.size();
  out.resize(at + values.size() * sizeof(T));
  char* to = out.data() + at;
  for (const uint64_t value : values) {
    const auto distance = static_cast<T>(value - base);
    std::memcpy(to, &distance, sizeof distance);
    to += sizeof distance;
  }
}

}  // namespace

void append_column(std::string& out, std::span<const uint64_t> values, unsigned min_width) {
  int64_t least = 0;
  int64_t most = 0;
  if (!values.empty()) {
    const auto [low, high] = std::minmax_element(
        values.begin(), values.end(),
        [](uint64_t a, uint64_t b) { return static_cast<int64_t>(a) < static_cast<int64_t>(b); });
    least = static_cast<int64_t>(*low);
    most = static_cast<int64_t>(*high);
  }
  const auto base = static_cast<uint64_t>(least);
  const unsigned width = std::max(width_of(static_cast<uint64_t>(most) - base), min_width);
  append_le(out, base);
  append_le(out, static_cast<uint8_t>(width));
  switch (width) {
    case 0:
      return;
    case 1:
      return append_values<uint8_t>(out, values, base);
    case 2:
      return append_values<uint16_t>(out, values, base);
    case 4:
      return append_values<uint32_t>(out, values, base);
    default:
      return append_values<uint64_t>(out, values, base);
  }
}

std::optional<Column64> Column64::take(ByteView& bytes, uint64_t count, unsigned min_width) {
  if (bytes.size() < kColumnHeaderBytes) return std::nullopt;
  Column64 column;
  column.base_ = load_le<uint64_t>(bytes.data());
  column.width_ = load_le<uint8_t>(bytes.data() + 8);
  bytes = bytes.subspan(kColumnHeaderBytes);
  const bool known = column.width_ <= 2 || column.width_ == 4 || column.width_ == 8;
  if (!known || column.width_ < min_width) return std::nullopt;
  if (column.width_ != 0 && count > bytes.size() / column.width_) return std::nullopt;
  column.data_ = bytes.data();
  bytes = bytes.subspan(count * column.width_);
  return column;
}

}  // namespace headrace
