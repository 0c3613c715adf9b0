// "Did you mean": the word of a list that is nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace::cli {

/// The candidate with the fewest insertions, deletions, replacements and swaps of neighbours away
/// from `word`, when that is few for its length; else empty.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace headrace::cli
