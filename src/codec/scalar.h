// Numbers written as text, as in `cls` files. Pure functions.
#pragma once

#include "headrace/bytes.h"
#include "headrace/field.h"
#include "headrace/result.h"

namespace headrace {

/// Writes the integer in `text` to `row` as a `dtype`, dtype_size(dtype) bytes; error if it is no
/// integer or does not fit.
Status parse_integer(ByteView text, DType dtype, MutableBytes row);

/// Writes the number in `text` to `row` as f32 or f64; error if it is none or too large.
Status parse_float(ByteView text, DType dtype, MutableBytes row);

}  // namespace headrace
