// Base64, RFC 4648. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headrace {

/// With '=' at the end.
std::string base64(std::string_view bytes);
/// For URLs: '-' and '_', no '='.
std::string base64url(std::string_view bytes);
/// Nothing if `text` is no base64 with its '='.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace headrace
