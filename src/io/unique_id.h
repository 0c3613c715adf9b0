// Names that nobody else has: of parts that are not yet an object.
#pragma once

#include <string>

namespace headrace {

/// 16 hexadecimal digits, random. Thread-safe.
std::string unique_id();

}  // namespace headrace
