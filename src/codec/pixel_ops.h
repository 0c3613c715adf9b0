// Operations on the values of pixels: torchvision v2's on uint8 tensors, within 1 a value (hue
// within 2). Alpha is left as it is; what needs colours leaves gray pictures as they are.
#pragma once

#include "codec/picture.h"
#include "codec/pixel_draws.h"

namespace headrace {

/// The picture after one adjustment. The result lies in `into`, or is `from` itself.
Picture adjusted(const Picture& from, const Adjustment& adjustment, ReusedBuffer& into);

}  // namespace headrace
