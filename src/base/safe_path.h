// Whether a name from an archive, a manifest or a list may become the path of a file.
// Thread-safety: a pure function.
#pragma once

#include <string_view>

namespace headrace {

/// True for a relative path that stays below the folder it is taken from: not empty, no leading or
/// trailing '/', no NUL byte, no empty, "." or ".." component, at most 4,096 bytes.
bool is_safe_path(std::string_view path);

}  // namespace headrace
