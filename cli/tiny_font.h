// A built-in font for words on pictures: ASCII, five by seven pixels a letter.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headrace::cli {

inline constexpr int kLetterWidth = 5;
inline constexpr int kLetterHeight = 7;
/// From one letter to the next.
inline constexpr int kLetterStep = kLetterWidth + 1;

/// Lines from top to bottom; bit 4 of a line is its leftmost pixel.
using Letter = std::array<uint8_t, kLetterHeight>;

/// The letter at the beginning of UTF-8 text, which is shortened by it. What is not ASCII is drawn
/// as an empty box. Precondition: the text is not empty.
const Letter& take_letter(std::string_view& text);

/// Letters that take_letter will find.
int count_letters(std::string_view text);

}  // namespace headrace::cli
