// `headrace show --decode "random_resized_crop=224, flip"`: the operations of an image recipe, by
// the names that they have in Python.
#pragma once

#include <string>
#include <vector>

#include "headrace/field.h"
#include "headrace/result.h"

namespace headrace::cli {

/// Code::kUsage names the word that is none.
Result<std::vector<ImageOp>> parse_recipe(const std::string& text);

}  // namespace headrace::cli
