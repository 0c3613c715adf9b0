// Which fields pack measures, and in what: "jpg=pixels,txt=tokens".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/measure.h"
#include "headrace/result.h"

namespace headrace {

/// What to measure which fields in.
using FieldUnits = std::vector<std::pair<std::string, Unit>>;

/// "jpg=pixels,txt=tokens". Code::kUsage names what is wrong.
Result<FieldUnits> parse_field_units(const std::string& text);

/// Unit::kNone: not measured.
Unit unit_of_field(const FieldUnits& units, const std::string& field);

}  // namespace headrace
