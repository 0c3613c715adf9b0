#include "job/key_map.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/try.h"
#include "headrace/store.h"
#include "io/urls.h"

namespace headrace {

Result<KeyMap> KeyMap::parse(const std::string& text) {
  KeyMap map;
  map.digest_ = sha256_hex(as_bytes(text));
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string::npos && (text[begin] == '{' || text[begin] == '/');
  if (is_json) {
    const auto json = nlohmann::ordered_json::parse(text, nullptr, false, true);
    if (!json.is_object())
      return Error{.code = Code::kUsage, .message = "the key map is no JSON object"};
    for (const auto& [name, entries] : json.items()) {
      if (!entries.is_array())
        return Error{.code = Code::kUsage, .message = "the key map has no list for '" + name + "'"};
      for (const auto& entry : entries) {
        if (!entry.is_string())
          return Error{.code = Code::kUsage,
                       .message = "the key map's list for '" + name + "' holds no text"};
        HR_CHECK(map.add(entry, name));
      }
    }
    return map;
  }
  size_t number = 0;
  for (const std::string& line : split_list(text)) {
    ++number;
    const size_t tab = line.find('\t');
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size())
      return Error{.code = Code::kUsage,
                   .message = "line " + std::to_string(number) +
                              " of the key map is not KEY, a tab and TEMPLATE"};
    HR_CHECK(map.add(line.substr(0, tab), line.substr(tab + 1)));
  }
  return map;
}

Result<KeyMap> KeyMap::read(const std::string& location) {
  HR_TRY(const std::string text, read_url(location));
  return parse(text);
}

Status KeyMap::add(const std::string& entry, const std::string& name) {
  const auto known = std::ranges::find(templates_, name);
  const auto number = static_cast<size_t>(known - templates_.begin());
  if (known == templates_.end()) templates_.push_back(name);
  if (entry.find_first_of(".*+?[](){}^$|\\") == std::string::npos) {
    keys_.emplace(entry, number);
    return {};
  }
  HR_TRY(Pattern pattern, Pattern::compile(entry));
  patterns_.emplace_back(std::move(pattern), number);
  return {};
}

std::optional<size_t> KeyMap::find(std::string_view key) const {
  if (const auto known = keys_.find(std::string(key)); known != keys_.end()) return known->second;
  for (const auto& [pattern, number] : patterns_)
    if (pattern.matches(key)) return number;
  return std::nullopt;
}

}  // namespace headrace
