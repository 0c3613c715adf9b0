// A rule that gives objects other names, written as sed and GNU tar's --transform have it:
//
//   s/^train-(\d+)/val-\1/     the first place that the expression (PCRE2) finds
//   s,/,_,g                    every place; any character may part the three
//
// In the replacement \1 … \9 are groups, & and \0 all that was found, \& a plain &. The flag i
// finds letters of either case. Thread-safety: immutable.
#pragma once

#include <memory>
#include <string>

#include "headrace/result.h"

namespace headrace {

class NameRule {
 public:
  /// Code::kUsage says what is wrong with it.
  static Result<NameRule> parse(const std::string& text);

  /// The new name of `name`. Code::kUsage if it is none for an object.
  Result<std::string> apply(const std::string& name) const;

 private:
  struct Compiled;
  std::string text_;
  std::string replacement_;  // as PCRE2 writes it
  bool global_ = false;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace headrace
