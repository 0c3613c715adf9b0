// `headrace show --decode "random_resized_crop(224, scale=(0.2, 1)), flip"`: an image recipe, by
// the words and the parameters that it has in Python.
#pragma once

#include <string>

#include "headrace/field.h"
#include "headrace/result.h"

namespace headrace::cli {

/// Code::kUsage names the word or the parameter that is none. Floats are float32 and rows are
/// height, width, channels, whatever the text says: neither changes a picture.
Result<ImageSpec> parse_recipe(const std::string& text);

}  // namespace headrace::cli
