#include "job/reshape/fields.h"

#include <algorithm>
#include <set>

#include "base/try.h"

namespace headrace {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(at, begin);
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

Error bad_rule(const std::string& rule, const std::string& why) {
  return {.code = Code::kUsage,
          .message = "the field '" + rule + "' " + why,
          .hint = "Write fields as jpg,cls or new=old or new=old1;old2 (the first there is)."};
}

}  // namespace

std::vector<std::string> FieldMap::output(const std::vector<std::string>& in) const {
  std::set<std::string> out;
  std::set<std::string> used;
  for (const FieldRule& rule : rules) {
    out.insert(rule.to);
    used.insert(rule.from.begin(), rule.from.end());
  }
  for (const std::string& field : in)
    if (others && !used.contains(field)) out.insert(field);
  return {out.begin(), out.end()};
}

Result<std::vector<FieldRule>> parse_field_rules(const std::string& text) {
  std::vector<FieldRule> rules;
  std::set<std::string> seen;
  for (const std::string& word : split(text, ',')) {
    const size_t equals = word.find('=');
    FieldRule rule;
    rule.to = word.substr(0, equals);
    rule.from =
        equals == std::string::npos ? std::vector{rule.to} : split(word.substr(equals + 1), ';');
    const auto is_bad = [](const std::string& name) {
      return name.empty() || name.find('/') != std::string::npos;
    };
    if (is_bad(rule.to) || std::ranges::any_of(rule.from, is_bad))
      return bad_rule(word, "has no name, or one with a slash");
    if (!seen.insert(rule.to).second) return bad_rule(word, "is given twice");
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::string format_field_rules(const std::vector<FieldRule>& rules) {
  std::string text;
  for (const FieldRule& rule : rules) {
    if (!text.empty()) text += ',';
    text += rule.to;
    if (rule.from == std::vector{rule.to}) continue;
    for (size_t i = 0; i < rule.from.size(); ++i) text += (i == 0 ? "=" : ";") + rule.from[i];
  }
  return text;
}

}  // namespace headrace
