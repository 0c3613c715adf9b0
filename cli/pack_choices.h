// Options that pack and index share: policies by name, lists of fields.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headrace/result.h"
#include "job/pack.h"

namespace headrace::cli {

/// The value of `text` among the named choices; Code::kUsage that lists them otherwise.
template <typename T>
Status choose(const std::string& option, const std::string& text,
              const std::vector<std::pair<const char*, T>>& choices, T* into) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) {
      *into = value;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return Error{.code = Code::kUsage,
               .message = option + " is one of " + names + ", not '" + text + "'",
               .origin = {},
               .hint = {}};
}

Status choose_duplicate(const std::string& text, OnDuplicate* into);
/// "" leaves it unset.
Status choose_missing(const std::string& text, std::optional<OnMissing>* into);
/// "jpg,.CLS" -> jpg, cls
std::vector<std::string> split_fields(const std::string& text);

}  // namespace headrace::cli
