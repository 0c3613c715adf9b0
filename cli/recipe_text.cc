#include "cli/recipe_text.h"

#include <algorithm>
#include <string_view>

#include "base/try.h"

namespace headrace::cli {
namespace {

constexpr std::string_view kSpaces = " \t\n";
constexpr std::string_view kBetweenWords = " \t\n,;.";
constexpr std::string_view kWordEnds = " \t\n,;.=()[]'\"";
constexpr std::string_view kValueEnds = " \t\n,;=()[]'\"";

class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  Result<std::vector<RecipeCall>> calls() {
    std::vector<RecipeCall> calls;
    for (skip(kBetweenWords); !left_.empty(); skip(kBetweenWords)) {
      HR_TRY(calls.emplace_back(), call());
    }
    return calls;
  }

 private:
  Result<RecipeCall> call() {
    RecipeCall call;
    HR_TRY(call.word, until(kWordEnds, "a word"));
    if (take('=')) {
      HR_TRY(call.arguments.emplace_back().value, value());
    } else if (take('(')) {
      while (!take(')')) {
        HR_TRY(call.arguments.emplace_back(), argument());
        HR_CHECK(separator(')'));
      }
    }
    return call;
  }

  Result<RecipeArgument> argument() {
    RecipeArgument argument;
    HR_TRY(argument.value, value());
    if (argument.value.size() != 1 || !take('=')) return argument;
    argument.name = argument.value.front();
    HR_TRY(argument.value, value());
    return argument;
  }

  Result<RecipeValue> value() {
    RecipeValue parts;
    const char close = take('(') ? ')' : take('[') ? ']' : '\0';
    if (close == '\0') {
      HR_TRY(parts.emplace_back(), part());
      return parts;
    }
    while (!take(close)) {
      HR_TRY(parts.emplace_back(), part());
      HR_CHECK(separator(close));
    }
    return parts;
  }

  Result<std::string> part() {
    for (const char quote : {'"', '\''}) {
      if (!take(quote)) continue;
      const std::string_view inside = left_.substr(0, left_.find(quote));
      left_.remove_prefix(inside.size());
      if (!take(quote))
        return wrong(std::string("a quote that ends '") + std::string(inside) + "'");
      return std::string(inside);
    }
    return until(kValueEnds, "a value");
  }

  /// A comma, or the end of the list, which is left there.
  Status separator(char close) {
    if (take(',') || left_.starts_with(close)) return {};
    return wrong(std::string("',' or '") + close + "'");
  }

  Result<std::string> until(std::string_view ends, const char* what) {
    skip(kSpaces);
    const std::string_view taken = left_.substr(0, left_.find_first_of(ends));
    if (taken.empty()) return wrong(what);
    left_.remove_prefix(taken.size());
    return std::string(taken);
  }

  bool take(char wanted) {
    skip(kSpaces);
    if (!left_.starts_with(wanted)) return false;
    left_.remove_prefix(1);
    return true;
  }

  void skip(std::string_view letters) {
    left_.remove_prefix(std::min(left_.find_first_not_of(letters), left_.size()));
  }

  Error wrong(const std::string& expected) const {
    const std::string place = left_.empty() ? "its end" : "'" + std::string(left_) + "'";
    return {.code = Code::kUsage,
            .message = "the recipe needs " + expected + " at " + place,
            .origin = {},
            .hint = "As in \"random_resized_crop(224, scale=(0.2, 1)), flip, rotate90=2\"."};
  }

  std::string_view left_;
};

}  // namespace

Result<std::vector<RecipeCall>> parse_calls(const std::string& text) {
  return Reader(text).calls();
}

}  // namespace headrace::cli
