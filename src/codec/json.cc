#include <bitset>
#include <cstdint>
#include <string>

#include "codec/text.h"

namespace headrace {
namespace {

/// Walks over one document without building it. A bit a level says whether it is an object.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : text_(text) {}

  Status document() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    for (;;) {
      if (!value()) return error();
      if (!close_containers()) return error();
      if (depth_ == 0) break;
    }
    if (at_ == text_.size()) return Status();
    fail("more follows the document");
    return error();
  }

 private:
  // Each step returns false after fail(); `at_` is then where it went wrong.

  /// A scalar or an empty container; or opens containers down to the first scalar.
  bool value() {
    for (;;) {
      skip_space();
      if (at_ == text_.size()) return fail("the document is cut short");
      const char c = text_[at_];
      if (c != '{' && c != '[') return scalar(c);
      if (depth_ == kJsonDepthLimit) return fail("arrays and objects are nested too deep");
      is_object_[depth_++] = c == '{';
      ++at_;
      skip_space();
      if (peek(c == '{' ? '}' : ']')) return true;
      if (c == '{' && !key()) return false;
    }
  }

  /// After a value: leaves finished containers and stands before the next value, or at the end.
  bool close_containers() {
    for (skip_space(); depth_ > 0; skip_space()) {
      const bool object = is_object_[depth_ - 1];
      if (peek(object ? '}' : ']')) {
        ++at_;
        --depth_;
        continue;
      }
      if (at_ == text_.size()) return fail("the document is cut short");
      if (!peek(',')) return fail("a comma or a closing bracket is missing");
      ++at_;
      skip_space();
      return object ? key() : !peek(']') || fail("a comma before a closing bracket");
    }
    return true;
  }

  bool key() {
    if (!peek('"')) return fail("an object's key must be a string");
    if (!string()) return false;
    skip_space();
    if (!peek(':')) return fail("a colon is missing after an object's key");
    ++at_;
    return true;
  }

  bool scalar(char c) {
    if (c == '"') return string();
    if (c == '-' || is_digit(c)) return number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return true;
      }
    }
    return fail("no value starts here");
  }

  bool number() {
    if (peek('-')) ++at_;
    if (peek('0')) {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (peek('.')) {
      ++at_;
      if (!digits()) return false;
    }
    if (peek('e') || peek('E')) {
      ++at_;
      if (peek('+') || peek('-')) ++at_;
      if (!digits()) return false;
    }
    return true;
  }

  bool digits() {
    if (at_ == text_.size() || !is_digit(text_[at_])) return fail("a digit is missing in a number");
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return true;
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const auto c = static_cast<uint8_t>(text_[at_]);
      if (c == '"') return ++at_, true;
      if (c < 0x20) return fail("a control character in a string must be escaped");
      if (c == '\\' && !escape()) return false;
    }
    return fail("a string is not closed");
  }

  /// Stands on the backslash; leaves at_ on the last character of the escape.
  bool escape() {
    ++at_;
    if (at_ == text_.size()) return fail("a string is not closed");
    const char c = text_[at_];
    if (c != 'u')
      return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos ||
             fail("no such escape in a string");
    for (int i = 0; i < 4; ++i) {
      ++at_;
      if (at_ == text_.size() || !is_hex(text_[at_]))
        return fail("\\u needs four hexadecimal digits");
    }
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  bool peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }

  bool fail(const char* what) {
    what_ = what;
    return false;
  }
  Error error() const {
    return {
        Code::kCorrupt,
        std::string("not JSON: ") + what_ + ", at byte " + std::to_string(at_) + " of the field",
        {},
        {}};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::bitset<kJsonDepthLimit> is_object_;
  const char* what_ = "";
};

}  // namespace

Status check_json(ByteView text) {
  if (auto utf8 = check_utf8(text); !utf8.ok()) return utf8;
  return JsonWalk(as_text(text)).document();
}

}  // namespace headrace
