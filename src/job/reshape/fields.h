// Which fields the output has, and which of the input's they are.
//
//   rename   txt=caption          caption becomes txt, the others stay            others = true
//   project  jpg=jpg;jpeg, cls    jpg (or else jpeg) and cls, and nothing else    others = false
//
// Thread-safety: plain values.
#pragma once

#include <string>
#include <vector>

#include "headrace/result.h"

namespace headrace {

struct FieldRule {
  std::string to;
  std::vector<std::string> from;  ///< the first of these that the sample has
};

struct FieldMap {
  enum class Missing { kError, kIgnore, kDropSample };
  enum class Conflict { kError, kFirst, kLast };

  std::vector<FieldRule> rules;
  bool others = true;                    ///< fields that no rule names stay, under their names
  Missing missing = Missing::kError;     ///< when a sample has none of a rule's `from`
  Conflict conflict = Conflict::kError;  ///< when joined samples both have a field

  bool is_identity() const { return others && rules.empty(); }
  /// The fields that samples with the fields `in` may have, sorted.
  std::vector<std::string> output(const std::vector<std::string>& in) const;
};

/// "jpg=jpg;jpeg,cls" -> rules. Code::kUsage for a name that stands twice.
Result<std::vector<FieldRule>> parse_field_rules(const std::string& text);
/// The inverse.
std::string format_field_rules(const std::vector<FieldRule>& rules);

}  // namespace headrace
