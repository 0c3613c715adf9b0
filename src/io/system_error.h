// The operating system's error numbers as Headrace errors.
#pragma once

#include <string>

#include "headrace/result.h"

namespace headrace {

/// "cannot ACTION: REASON" about the file `path`, with the code and the hint that fit `number`
/// (an errno): no such file, not allowed, no space and file limits are told apart.
Error system_error(const std::string& action, const std::string& path, int number);

}  // namespace headrace
