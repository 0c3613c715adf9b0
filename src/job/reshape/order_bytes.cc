#include "job/reshape/order_bytes.h"

#include <bit>
#include <cstring>

namespace headrace {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The run of digits at the front of `text`, without zeros before it; `text` moves behind it.
std::string_view take_digits(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  size_t zeros = 0;
  while (zeros + 1 < end && text[zeros] == '0') ++zeros;
  const std::string_view digits = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return digits;
}

}  // namespace

void append_ordered(std::string& out, uint32_t number) {
  const uint32_t swapped = __builtin_bswap32(number);
  out.append(reinterpret_cast<const char*>(&swapped), sizeof swapped);
}

void append_ordered(std::string& out, uint64_t number) {
  const uint64_t swapped = __builtin_bswap64(number);
  out.append(reinterpret_cast<const char*>(&swapped), sizeof swapped);
}

void append_ordered(std::string& out, int64_t number) {
  append_ordered(out, static_cast<uint64_t>(number) ^ kSign);
}

void append_ordered(std::string& out, double number) {
  const auto bits = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
  append_ordered(out, (bits & kSign) != 0 ? ~bits : bits | kSign);
}

// 0 becomes 0 255, and 0 0 is the end.
void append_ordered(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c;
    if (c == '\0') out += '\xff';
  }
  out.append(2, '\0');
}

// A number begins with a digit, as before, and goes on with its length.
void append_natural(std::string& out, std::string_view text) {
  std::string by_value;
  for (std::string_view rest = text; !rest.empty();) {
    if (!is_digit(rest.front())) {
      by_value += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view digits = take_digits(rest);
    by_value += '0';
    append_ordered(by_value, static_cast<uint32_t>(digits.size()));
    by_value += digits;
  }
  append_ordered(out, by_value);
  append_ordered(out, text);
}

uint64_t number_at(std::string_view bytes, size_t at) {
  uint64_t swapped = 0;
  std::memcpy(&swapped, bytes.data() + at, sizeof swapped);
  return __builtin_bswap64(swapped);
}

uint64_t last_number(std::string_view bytes) {
  return number_at(bytes, bytes.size() - sizeof(uint64_t));
}

}  // namespace headrace
