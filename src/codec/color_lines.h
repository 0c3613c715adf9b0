// The inner loops of operations on colours, over a line of bytes at a time. The plain versions
// define the result; the vector versions choose the machine's best instructions when they run and
// give the same bytes: both take the same steps, each rounded to f32.
//
// `out` is not one of the lines that are read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace {

/// What becomes of each byte.
using ByteTable = std::array<uint8_t, 256>;

void look_up_line(const uint8_t* in, size_t count, const ByteTable& table, uint8_t* out);
void look_up_line_plain(const uint8_t* in, size_t count, const ByteTable& table, uint8_t* out);

/// torchvision's luma of a line of red, one of green and one of blue: its weights, truncated to a
/// whole number.
void luma_line(const uint8_t* const* rgb, size_t count, uint8_t* out);
void luma_line_plain(const uint8_t* const* rgb, size_t count, uint8_t* out);

/// value * factor + other * (1 - factor), truncated.
void mix_line(const uint8_t* values, const uint8_t* others, size_t count, float factor,
              uint8_t* out);
void mix_line_plain(const uint8_t* values, const uint8_t* others, size_t count, float factor,
                    uint8_t* out);

/// Colours whose hue is moved round its circle by a share of it, -0.5 to 0.5: to HSV and back in
/// single precision, as torchvision does on tensors.
void turn_hue_line(const uint8_t* const* rgb, size_t count, float turn, uint8_t* const* out);
void turn_hue_line_plain(const uint8_t* const* rgb, size_t count, float turn, uint8_t* const* out);

/// value + (blur - value) * (1 - factor), truncated: the blur weighs the value by 5 and its eight
/// neighbours by 1. `lines`: above, here, below; of each the `step` bytes before the first and
/// after the last one are read, too.
void sharpen_line(const uint8_t* const* lines, size_t count, size_t step, float factor,
                  uint8_t* out);
void sharpen_line_plain(const uint8_t* const* lines, size_t count, size_t step, float factor,
                        uint8_t* out);

}  // namespace headrace
