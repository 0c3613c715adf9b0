// Names of objects that hold a part of another one until that is whole: where a service knows no
// uploads in parts but puts objects together (Google). KEY.headrace-part-<what>.part. No listing
// shows them. They end alike so that a lifecycle rule can name those that a killed writer left.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

inline constexpr std::string_view kPartObjectInfix = ".headrace-part-";
inline constexpr std::string_view kPartObjectSuffix = ".part";

/// What the names of all parts of `key` begin with.
inline std::string part_object_prefix(const std::string& key) {
  return key + std::string(kPartObjectInfix);
}

inline std::string part_object(const std::string& key, const std::string& what) {
  return part_object_prefix(key) + what + std::string(kPartObjectSuffix);
}

inline bool is_part_object(std::string_view path) {
  return path.ends_with(kPartObjectSuffix) &&
         path.substr(path.rfind('/') + 1).find(kPartObjectInfix) != std::string_view::npos;
}

}  // namespace headrace
