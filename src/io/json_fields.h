// Members of JSON objects that strangers wrote: whatever their types are, nothing is thrown. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace headrace {

/// The member `name` of an object; null if there is none, or no object.
inline const nlohmann::json& field_of(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

/// The text `name`; "" if it is none.
inline std::string text_of(const nlohmann::json& object, const char* name) {
  const nlohmann::json& value = field_of(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

/// The number `name`, if it is one and not negative.
inline std::optional<uint64_t> number_of(const nlohmann::json& object, const char* name) {
  const nlohmann::json& value = field_of(object, name);
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<uint64_t>();
}

}  // namespace headrace
