#include "format/parquet/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/base64.h"
#include "base/little_endian.h"

namespace headrace::parquet {
namespace {

constexpr int64_t kSecondsOfDay = 86'400;

template <typename T>
void append_number(T value, std::string& out) {
  std::array<char, 64> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

/// With leading zeros.
void append_padded(uint64_t value, size_t width, std::string& out) {
  const std::string digits = std::to_string(value);
  out.append(width - std::min(width, digits.size()), '0');
  out += digits;
}

template <typename T>
void append_float(T value, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
  } else {
    const size_t begin = out.size();
    append_number(value, out);
    if (out.find_first_of(".e", begin) == std::string::npos) out += ".0";
  }
}

/// IEEE 754 binary16.
float half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const auto fraction = static_cast<float>(bits & 1023);
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

int64_t signed_of(ByteView value) {
  return value.size() == 4 ? load_le<int32_t>(value.data()) : load_le<int64_t>(value.data());
}

/// Digits of an unsigned number whose most significant byte comes first.
std::string digits_of(std::vector<unsigned> bytes) {
  std::string digits;
  const auto is_zero = [](unsigned byte) { return byte == 0; };
  while (!std::ranges::all_of(bytes, is_zero)) {
    unsigned rest = 0;
    for (unsigned& byte : bytes) {
      const unsigned here = rest << 8U | byte;
      byte = here / 10;
      rest = here % 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  std::ranges::reverse(digits);
  return digits;
}

/// Two's complement, the most significant byte first.
void append_decimal(ByteView value, int scale, std::string& out) {
  std::vector<unsigned> bytes;
  for (const std::byte byte : value) bytes.push_back(std::to_integer<unsigned>(byte));
  if (!bytes.empty() && bytes.front() >= 128) {
    out += '-';
    unsigned carry = 1;
    for (size_t i = bytes.size(); i-- > 0;) {
      const unsigned flipped = (255 - bytes[i]) + carry;
      bytes[i] = flipped & 255U;
      carry = flipped >> 8U;
    }
  }
  std::string digits = digits_of(std::move(bytes));
  const auto places = static_cast<size_t>(scale);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - places, 1, '.');
  out += digits;
}

void append_decimal_of(const ValueType& type, ByteView value, std::string& out) {
  constexpr size_t kLongest = 64;
  std::array<std::byte, kLongest> turned;
  value = value.first(std::min(value.size(), kLongest));
  if (type.physical == Physical::kInt32 || type.physical == Physical::kInt64) {
    std::ranges::reverse_copy(value, turned.begin());
    value = ByteView(turned).first(value.size());
  }
  append_decimal(value, type.digits, out);
}

/// Whole days, and what is left of the one that has begun.
struct DayTime {
  int64_t days;
  int64_t rest;
};

DayTime split_day(int64_t value, int64_t a_day) {
  const bool before = value % a_day < 0;
  return {value / a_day - (before ? 1 : 0), value % a_day + (before ? a_day : 0)};
}

/// Days since 1970-01-01; far ones, for which there is no calendar, as their number.
void append_date(int64_t days, std::string& out) {
  constexpr int64_t kFar = 11'000'000;  // the year 32,000 or so
  if (days > kFar || days < -kFar) return append_number(days, out);
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  const int year = static_cast<int>(date.year());
  if (year < 0) out += '-';
  append_padded(static_cast<uint64_t>(std::abs(year)), 4, out);
  out += '-';
  append_padded(static_cast<unsigned>(date.month()), 2, out);
  out += '-';
  append_padded(static_cast<unsigned>(date.day()), 2, out);
}

/// `units` of the day, 10^digits of them a second.
void append_time(int64_t units, int digits, std::string& out) {
  int64_t a_second = 1;
  for (int i = 0; i < digits; ++i) a_second *= 10;
  const auto seconds = static_cast<uint64_t>(units / a_second);
  append_padded(seconds / 3600, 2, out);
  out += ':';
  append_padded(seconds / 60 % 60, 2, out);
  out += ':';
  append_padded(seconds % 60, 2, out);
  out += '.';
  append_padded(static_cast<uint64_t>(units % a_second), static_cast<size_t>(digits), out);
}

void append_timestamp(int64_t value, const ValueType& type, std::string& out) {
  int64_t a_day = kSecondsOfDay;
  for (int i = 0; i < type.digits; ++i) a_day *= 10;
  const DayTime at = split_day(value, a_day);
  append_date(at.days, out);
  out += 'T';
  append_time(at.rest, type.digits, out);
  if (type.utc) out += 'Z';
}

/// INT96: nanoseconds of the day, and the Julian day.
void append_old_timestamp(ByteView value, std::string& out) {
  constexpr int64_t kJulianEpoch = 2'440'588;
  constexpr int64_t kDay = kSecondsOfDay * 1'000'000'000;
  const DayTime at = split_day(load_le<int64_t>(value.data()), kDay);
  append_date(load_le<int32_t>(value.data() + 8) - kJulianEpoch + at.days, out);
  out += 'T';
  append_time(at.rest, 9, out);
}

void append_hex(ByteView bytes, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const std::byte byte : bytes) {
    out += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    out += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
}

void append_uuid(ByteView value, std::string& out) {
  size_t at = 0;
  for (const size_t size : {4U, 2U, 2U, 2U, 6U}) {
    if (at > 0) out += '-';
    append_hex(value.subspan(at, size), out);
    at += size;
  }
}

}  // namespace

void append_text(const ValueType& type, ByteView value, std::string& out) {
  switch (type.meaning) {
    case Meaning::kBytes:
    case Meaning::kText:
      out += as_text(value);
      return;
    case Meaning::kBoolean:
      out += value[0] == std::byte{0} ? '0' : '1';
      return;
    case Meaning::kSigned:
      return append_number(signed_of(value), out);
    case Meaning::kUnsigned:
      return value.size() == 4 ? append_number(load_le<uint32_t>(value.data()), out)
                               : append_number(load_le<uint64_t>(value.data()), out);
    case Meaning::kFloat:
      return value.size() == 4 ? append_float(load_le<float>(value.data()), out)
                               : append_float(load_le<double>(value.data()), out);
    case Meaning::kHalf:
      return append_float(half(load_le<uint16_t>(value.data())), out);
    case Meaning::kDecimal:
      return append_decimal_of(type, value, out);
    case Meaning::kDate:
      return append_date(signed_of(value), out);
    case Meaning::kTime: {
      const int64_t time = signed_of(value);
      return time < 0 ? append_number(time, out) : append_time(time, type.digits, out);
    }
    case Meaning::kTimestamp:
      return type.physical == Physical::kInt96 ? append_old_timestamp(value, out)
                                               : append_timestamp(signed_of(value), type, out);
    case Meaning::kUuid:
      return append_uuid(value, out);
  }
}

void append_json(const ValueType& type, ByteView value, std::string& out) {
  switch (type.meaning) {
    case Meaning::kBytes:
      return append_quoted(base64(as_text(value)), out);
    case Meaning::kText:
      return append_quoted(as_text(value), out);
    case Meaning::kBoolean:
      out += value[0] == std::byte{0} ? "false" : "true";
      return;
    case Meaning::kDate:
    case Meaning::kTime:
    case Meaning::kTimestamp:
    case Meaning::kUuid:
      out += '"';
      append_text(type, value, out);
      out += '"';
      return;
    default:
      return append_text(type, value, out);
  }
}

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      append_hex(ByteView(reinterpret_cast<const std::byte*>(&c), 1), out);
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace headrace::parquet
