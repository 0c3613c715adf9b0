// Writes PNG files, by libpng. Thread-safety: a pure function.
#pragma once

#include <string>

#include "codec/picture.h"

namespace headrace {

/// The picture (gray, gray with alpha, RGB or RGBA) as a PNG file, appended to `out`.
Status encode_png(const Picture& picture, std::string& out);

}  // namespace headrace
