// Numbers in answers that strangers wrote as text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace {

/// Decimal digits and nothing else.
inline std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, number);
  if (problem != std::errc() || end != last) return std::nullopt;
  return number;
}

}  // namespace headrace
