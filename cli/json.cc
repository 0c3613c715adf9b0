#include <array>
#include <charconv>
#include <cmath>

#include "cli/output.h"

namespace headrace::cli {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// Length of the UTF-8 sequence at text[at] by the Unicode standard, table 3-7; 0 if there is none.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool too_high = first == 0xf4 && second > 0x8f;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_high ? 4 : 0;
  }
  return 0;
}

void append_escape(std::string& into, const char* prefix, unsigned char c) {
  into += prefix;
  into += kDigits[c >> 4];
  into += kDigits[c & 15];
}

void append_quoted(std::string& into, std::string_view text) {
  into += '"';
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text, i);
    if (c == '"' || c == '\\')
      into.append({'\\', text[i]});
    else if (c == '\n')
      into += "\\n";
    else if (c < 0x20 || c == 0x7f)
      append_escape(into, "\\u00", c);
    else if (length == 0)
      append_escape(into, "\\udc", c);
    else
      into.append(text, i, length);
    i += length == 0 ? 1 : length;
  }
  into += '"';
}

}  // namespace

void Json::comma() {
  if (!first_ && !after_key_) into_ += ',';
  first_ = after_key_ = false;
}

Json& Json::open(char bracket) {
  comma();
  into_ += bracket;
  closing_ += bracket == '{' ? '}' : ']';
  first_ = true;
  return *this;
}

Json& Json::end() {
  into_ += closing_.back();
  closing_.pop_back();
  first_ = false;
  return *this;
}

Json& Json::key(std::string_view name) {
  comma();
  append_quoted(into_, name);
  into_ += ':';
  after_key_ = true;
  return *this;
}

Json& Json::value(std::string_view text) {
  comma();
  append_quoted(into_, text);
  return *this;
}

Json& Json::value(double number) {
  if (!std::isfinite(number)) return null();
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return raw({digits.data(), static_cast<size_t>(end - digits.data())});
}

Json& Json::value(bool truth) { return raw(truth ? "true" : "false"); }

Json& Json::raw(std::string_view text) {
  comma();
  into_ += text;
  return *this;
}

}  // namespace headrace::cli
