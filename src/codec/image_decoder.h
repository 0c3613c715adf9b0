// The decoder of ImageSpec: kind by magic bytes, header, limits, geometry, pixels, transforms, row.
#pragma once

#include <memory>

#include "codec/decoder.h"

namespace headrace {

/// Checks and compiles an image recipe.
Result<std::unique_ptr<Decoder>> make_image_decoder(const ImageSpec& spec);

}  // namespace headrace
