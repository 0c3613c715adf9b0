// Turning the hue of pixels, in single precision as torchvision does on tensors: RGB to HSV, the
// hue moved round its circle, and back.
#pragma once

#include <cstdint>
#include <vector>

namespace headrace {

/// One line of `width` pixels of 3 or 4 channels; a fourth one is copied. `turn` is a share of the
/// circle, -0.5 to 0.5. `planes` is scratch memory.
void turn_hue(const uint8_t* in, int width, int channels, float turn, std::vector<float>& planes,
              uint8_t* out);

}  // namespace headrace
