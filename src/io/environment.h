// Settings that the environment gives to stores. Reading is thread-safe while nobody calls setenv.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace headrace {

/// The first of these variables that is set and not empty, or "".
inline std::string environment(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return "";
}
inline std::string environment(const char* name) { return environment({name}); }

/// "1", "true", "yes", "on", in any case, are true; anything else is not.
bool environment_flag(std::initializer_list<const char*> names);

}  // namespace headrace
