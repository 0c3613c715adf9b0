// When an object was last written. Only folders say so; the stores' interface does not.
// Thread-safety: a pure function of the store.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/store.h"

namespace headrace {

/// Nanoseconds since 1970 by the file system's clock; nothing for stores that are no folders.
inline std::optional<int64_t> modified_ns(const Store& store, const std::string& path) {
  struct stat info;
  if (::stat((store.name() + "/" + path).c_str(), &info) != 0) return std::nullopt;
  return info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
}

}  // namespace headrace
