// A file of the local file system (or of anything mounted as one) to read from, through the page
// cache or past it (HEADRACE_DIRECT). Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "headrace/store.h"

namespace headrace {

/// Code::kUsage for what is no regular file.
Result<std::unique_ptr<ByteSource>> open_local_file(const std::string& path);

}  // namespace headrace
