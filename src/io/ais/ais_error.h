// Answers of AIStore that are errors, as ours. Pure.
#pragma once

#include <string>
#include <string_view>

#include "headrace/result.h"
#include "io/http/http_message.h"

namespace headrace {

/// Like http_error, with the cluster's own words, which stand in the body or, for HEAD, in a
/// header.
Error ais_error(std::string_view action, const std::string& object, const HttpResponse& answer);

/// Whether it says that there is no such bucket.
bool is_missing_bucket(const HttpResponse& answer);

}  // namespace headrace
