// The text of an image recipe, in the calls that it is written in. A word stands alone, with one
// value, or with the arguments that it has in Python:
//
//   flip    resize=224    center_crop=192x256    random_resized_crop(224, scale=(0.2, 1))
//
// Between words are commas, semicolons, spaces or full stops.
#pragma once

#include <string>
#include <vector>

#include "headrace/result.h"

namespace headrace::cli {

/// The parts of `(0.2, 1)` or `[0.2, 1]`, or one part, without quotes: `0.2`, `192x256`, `bicubic`.
using RecipeValue = std::vector<std::string>;

struct RecipeArgument {
  std::string name;  ///< empty: given by its place
  RecipeValue value;
};

struct RecipeCall {
  std::string word;
  std::vector<RecipeArgument> arguments;
};

Result<std::vector<RecipeCall>> parse_calls(const std::string& text);

}  // namespace headrace::cli
