// The inner loops of a blur. The plain versions define the result; the vector versions choose the
// machine's best instructions when they run and give the same bits: each value is the same sum, in
// the same order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

/// The lines' weighted sum. They may overlap each other, but not `out`.
void weigh_lines(const float* const* lines, const float* weights, size_t line_count, size_t count,
                 float* out);
void weigh_lines_plain(const float* const* lines, const float* weights, size_t line_count,
                       size_t count, float* out);

/// Rounded to bytes, half to even.
void round_line(const float* in, size_t count, uint8_t* out);
void round_line_plain(const float* in, size_t count, uint8_t* out);

}  // namespace headrace
