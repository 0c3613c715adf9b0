#include "codec/scalar.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <system_error>

namespace headrace {
namespace {

/// Field text in messages is quoted up to this many characters.
constexpr size_t kQuoted = 32;

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kQuoted)) quoted += (c >= 0x20 && c < 0x7F) ? c : '?';
  return quoted + (text.size() > kQuoted ? "…\"" : "\"");
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// The digits of a number whose plus sign, which std::from_chars does not know, is taken off.
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

Error not_a(const char* what, ByteView text) {
  return {Code::kCorrupt, "not " + std::string(what) + ": " + quote(as_text(text)), {}, {}};
}

Error does_not_fit(DType dtype, ByteView text) {
  return {Code::kCorrupt, quote(as_text(text)) + " does not fit into " + dtype_name(dtype), {}, {}};
}

template <typename T>
Status parse_as(ByteView text, DType dtype, MutableBytes row) {
  const std::string_view digits = without_plus(trim(as_text(text)));
  // Unsigned types are parsed by way of their own parser, which takes no minus sign: say that a
  // negative number does not fit, not that it is none.
  long long negative = 0;
  T value{};
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, value);
  if (code == std::errc() && stop == end) {
    std::memcpy(row.data(), &value, sizeof value);
    return Status();
  }
  if (code == std::errc::result_out_of_range && stop == end) return does_not_fit(dtype, text);
  if (std::is_unsigned_v<T> && std::from_chars(digits.data(), end, negative).ptr == end &&
      !digits.empty())
    return does_not_fit(dtype, text);
  return not_a("an integer", text);
}

}  // namespace

Status parse_integer(ByteView text, DType dtype, MutableBytes row) {
  switch (dtype) {
    case DType::u8:
      return parse_as<uint8_t>(text, dtype, row);
    case DType::i8:
      return parse_as<int8_t>(text, dtype, row);
    case DType::u16:
      return parse_as<uint16_t>(text, dtype, row);
    case DType::i16:
      return parse_as<int16_t>(text, dtype, row);
    case DType::u32:
      return parse_as<uint32_t>(text, dtype, row);
    case DType::i32:
      return parse_as<int32_t>(text, dtype, row);
    case DType::u64:
      return parse_as<uint64_t>(text, dtype, row);
    default:
      return parse_as<int64_t>(text, dtype, row);
  }
}

Status parse_float(ByteView text, DType dtype, MutableBytes row) {
  const std::string_view digits = without_plus(trim(as_text(text)));
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, value);
  if (code == std::errc::result_out_of_range && stop == end) return does_not_fit(dtype, text);
  if (code != std::errc() || stop != end) return not_a("a number", text);
  if (dtype == DType::f64) {
    std::memcpy(row.data(), &value, sizeof value);
    return Status();
  }
  // A double out of float's range would be undefined or silently infinite.
  const auto narrow = static_cast<float>(value);
  if (std::isinf(narrow) && !std::isinf(value)) return does_not_fit(dtype, text);
  std::memcpy(row.data(), &narrow, sizeof narrow);
  return Status();
}

}  // namespace headrace
