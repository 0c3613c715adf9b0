// The decoder of BoxesSpec: boxes and what stays with them, moved as the picture's pixels are.
#pragma once

#include <memory>

#include "codec/decoder.h"

namespace headrace {

/// Checks and compiles a recipe of boxes. Rows must be decoded right after their picture, with the
/// same Scratch, which knows the picture's size.
Result<std::unique_ptr<Decoder>> make_boxes_decoder(const BoxesSpec& spec);

}  // namespace headrace
