// Checks of text fields: is it UTF-8, is it JSON. Pure functions, no allocation.
#pragma once

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// Offset of the first byte of the first sequence that is no UTF-8 (overlong forms, surrogates and
/// code points above U+10FFFF are none); text.size() if all is well.
size_t utf8_error(ByteView text);

/// UTF-8, or an error that names the byte.
Status check_utf8(ByteView text);

/// How deep arrays and objects of a JSON field may be nested.
inline constexpr size_t kJsonDepthLimit = 1000;

/// One JSON document after RFC 8259 in UTF-8, white space around it and a byte order mark before
/// it allowed. NaN and Infinity are no JSON; numbers are not evaluated, so any size is fine.
Status check_json(ByteView text);

}  // namespace headrace
