// The decoder of MaskSpec: class numbers of pixels, moved as the picture's pixels are.
//
// The numbers travel through the steps of a picture as pixels of 1 to 3 bytes, lowest byte first,
// taken by `nearest` wherever the picture's are blended; so they come out as they went in.
#pragma once

#include <memory>

#include "codec/decoder.h"

namespace headrace {

/// Checks and compiles a mask's recipe. Its rows must be decoded right after their picture, with
/// the same Scratch, which knows the picture's size.
Result<std::unique_ptr<Decoder>> make_mask_decoder(const MaskSpec& spec);

}  // namespace headrace
