#include "io/environment.h"

#include <strings.h>

namespace headrace {

bool environment_flag(std::initializer_list<const char*> names) {
  const std::string value = environment(names);
  for (const char* yes : {"1", "true", "yes", "on"})
    if (strcasecmp(value.c_str(), yes) == 0) return true;
  return false;
}

}  // namespace headrace
