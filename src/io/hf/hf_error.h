// Answers of the Hub that are errors, as ours: they name the repository and what to do. Pure.
#pragma once

#include <string>
#include <string_view>

#include "headrace/result.h"
#include "io/hf/hf_location.h"
#include "io/hf/hf_settings.h"
#include "io/http/http_message.h"

namespace headrace {

/// `action` and `object` as in http_error.
Error hf_error(std::string_view action, const std::string& object, const HttpResponse& answer,
               const HfLocation& repository, const HfSettings& settings);

}  // namespace headrace
