// Gaussian blur: along the lines, then down the columns, in single precision, rounded once at the
// end; over the edge the picture is reflected. Equal to torchvision's within 1.
#pragma once

#include "codec/picture.h"
#include "codec/pixel_draws.h"
#include "codec/scratch.h"

namespace headrace {

/// The blurred picture, alpha too; it lies in `into`.
Picture blurred(const Picture& from, const Blur& blur, ReusedBuffer& into,
                Scratch::Buffers& scratch);

}  // namespace headrace
