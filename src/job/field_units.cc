#include "job/field_units.h"

#include <algorithm>

namespace headrace {
namespace {

Error usage(std::string message) {
  return {.code = Code::kUsage,
          .message = std::move(message),
          .origin = {},
          .hint = "As in --measure jpg=pixels,txt=tokens; units: pixels, tokens, frames, value."};
}

}  // namespace

Result<FieldUnits> parse_field_units(const std::string& text) {
  FieldUnits units;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    at = comma + 1;
    const size_t equals = word.rfind('=');
    if (equals == word.npos || equals == 0)
      return usage("'" + word + "' does not say what a field is measured in");
    const auto unit = parse_unit(std::string_view(word).substr(equals + 1));
    if (!unit) return usage("there is no unit '" + word.substr(equals + 1) + "'");
    if (unit_of_field(units, word.substr(0, equals)) != Unit::kNone)
      return usage("the field '" + word.substr(0, equals) + "' is measured twice");
    units.emplace_back(word.substr(0, equals), *unit);
  }
  return units;
}

Unit unit_of_field(const FieldUnits& units, const std::string& field) {
  const auto found = std::ranges::find(units, field, &FieldUnits::value_type::first);
  return found == units.end() ? Unit::kNone : found->second;
}

}  // namespace headrace
