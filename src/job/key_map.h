// An external map from keys to output templates, as AIStore's dsort and ishard take it:
//
//   {"fish-%d.tar": ["train/n01440764.*", "k17"],  // comments are allowed
//    "dogs-%d.tar": ["dog"]}
//
// or lines `KEY<TAB>TEMPLATE`. An entry without characters of a regular expression is a whole key;
// any other is looked for in the key. Whole keys go first, then the expressions in their order.
// Thread-safety: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "job/pattern.h"

namespace headrace {

class KeyMap {
 public:
  /// Code::kUsage names the line that is not understood.
  static Result<KeyMap> parse(const std::string& text);
  static Result<KeyMap> read(const std::string& location);

  const std::vector<std::string>& templates() const { return templates_; }
  /// SHA-256 of the text, for plans.
  const std::string& digest() const { return digest_; }
  /// Number of the template; nothing for a key that no entry names.
  std::optional<size_t> find(std::string_view key) const;

 private:
  Status add(const std::string& entry, const std::string& name);

  std::string digest_;
  std::vector<std::string> templates_;
  std::unordered_map<std::string, size_t> keys_;
  std::vector<std::pair<Pattern, size_t>> patterns_;
};

}  // namespace headrace
