// The words for the choices of an image recipe: one set for Python and the command line.
// Thread-safety: pure.
#pragma once

#include <optional>
#include <string_view>

#include "headrace/field.h"

namespace headrace {

std::optional<Interpolation> interpolation_of(std::string_view word);
std::optional<Edge> edge_of(std::string_view word);
std::optional<Channels> channels_of(std::string_view word);

}  // namespace headrace
