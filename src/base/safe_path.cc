#include "base/safe_path.h"

namespace headrace {

bool is_safe_path(std::string_view path) {
  constexpr size_t kLongest = 4096;
  if (path.size() > kLongest || path.find('\0') != path.npos) return false;
  for (;;) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace headrace
