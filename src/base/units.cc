#include "base/units.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace headrace {
namespace {

struct Suffix {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024;
constexpr std::array<Suffix, 16> kSuffixes{{
    {"", 1},
    {"b", 1},
    {"k", 1e3},
    {"kb", 1e3},
    {"kib", kKi},
    {"m", 1e6},
    {"mb", 1e6},
    {"mib", kKi* kKi},
    {"g", 1e9},
    {"gb", 1e9},
    {"gib", kKi* kKi* kKi},
    {"t", 1e12},
    {"tb", 1e12},
    {"tib", kKi* kKi* kKi* kKi},
    {"pb", 1e15},
    {"pib", kKi* kKi* kKi* kKi* kKi},
}};

Error bad_size(std::string_view text) {
  return {.code = Code::kUsage,
          .message = "'" + std::string(text) + "' is not a size in bytes",
          .hint = "Write it as 268435456, 256MiB or 1.5GB."};
}

}  // namespace

Result<uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (problem != std::errc() || number < 0) return bad_size(text);
  std::string unit;
  for (const char* c = stop; c != end; ++c)
    if (*c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.name != unit) continue;
    const double bytes = std::round(number * suffix.factor);
    if (bytes >= 9.2e18) return bad_size(text);
    return static_cast<uint64_t>(bytes);
  }
  return bad_size(text);
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= kKi;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, kUnits[unit]);
  return text.data();
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string format_number_of(uint64_t count, std::string_view noun) {
  return format_count(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string format_seconds(double seconds) {
  std::array<char, 32> text{};
  if (seconds < 60) {
    std::snprintf(text.data(), text.size(), "%.1fs", seconds);
    return text.data();
  }
  const auto whole = static_cast<long long>(seconds);
  if (whole < 3600)
    std::snprintf(text.data(), text.size(), "%lldm%02llds", whole / 60, whole % 60);
  else
    std::snprintf(text.data(), text.size(), "%lldh%02lldm%02llds", whole / 3600, whole / 60 % 60,
                  whole % 60);
  return text.data();
}

}  // namespace headrace
