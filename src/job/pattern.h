// A regular expression of PCRE2, looked for anywhere in a text.
// Thread-safety: immutable; matches() from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headrace/result.h"

namespace headrace {

class Pattern {
 public:
  /// Code::kUsage for what is no expression.
  static Result<Pattern> compile(const std::string& text);
  const std::string& text() const { return text_; }
  bool matches(std::string_view subject) const;

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace headrace
