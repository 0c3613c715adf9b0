// The two passes of a scaling: along the lines, and down the columns. The plain versions define
// the result; the vector versions choose the machine's best instructions when they run and give
// the same bytes, since all sums are of whole numbers.
#pragma once

#include "codec/picture.h"
#include "codec/resample_filter.h"

namespace headrace {

/// Half of the last bit that is kept, to round by.
inline constexpr int32_t kFilterHalf = 1 << (kFilterPrecision - 1);

/// All lines scaled along to `width` pixels each, without gaps. `memory` is scratch.
void scale_lines(const Picture& from, const Filter& filter, int width, std::vector<int32_t>& memory,
                 uint8_t* out);
void scale_lines_plain(const Picture& from, const Filter& filter, int width, uint8_t* out);

/// One line of `bytes` bytes out of `count` lines that begin `stride` apart.
void blend_lines(const uint8_t* first, size_t stride, const int32_t* weights, int count,
                 size_t bytes, uint8_t* out);
void blend_lines_plain(const uint8_t* first, size_t stride, const int32_t* weights, int count,
                       size_t bytes, uint8_t* out);

}  // namespace headrace
