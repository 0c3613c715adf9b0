// What follows from an image recipe alone, before any picture is seen: whether it makes sense, the
// type and shape of its rows, and the numbers that pixels become. Pure functions.
#pragma once

#include "codec/decoder.h"
#include "codec/finish.h"

namespace headrace {

/// Code::kUsage says what is wrong with the recipe.
Status check_image_recipe(const ImageSpec& spec);

/// Type of the row's numbers.
DType image_row_dtype(const ImageSpec& spec);

/// kFixed if neither size nor channels depend on the picture, else kDynamic.
RowShape image_row_shape(const ImageSpec& spec);

/// What each pixel's byte becomes in rows of floats.
PixelScale image_pixel_scale(const ImageSpec& spec);

}  // namespace headrace
