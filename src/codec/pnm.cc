#include "codec/pnm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/try.h"

namespace headrace {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Error damaged(const std::string& words, size_t at) {
  return picture_error("PNM", words + ", at byte " + std::to_string(at) + " of the field");
}

}  // namespace

/// Space and comments, then a decimal number.
Result<uint32_t> PnmReader::next_number() {
  const std::string_view text = as_text(file_);
  while (at_ < text.size() && (is_space(text[at_]) || text[at_] == '#')) {
    if (text[at_] == '#') at_ = std::min(text.find_first_of("\r\n", at_), text.size());
    if (at_ < text.size()) ++at_;
  }
  if (at_ == text.size()) return damaged("the file ends too soon", at_);
  if (!is_digit(text[at_])) return damaged("a number was expected", at_);
  uint64_t number = 0;
  for (; at_ < text.size() && is_digit(text[at_]); ++at_) {
    number = number * 10 + static_cast<uint64_t>(text[at_] - '0');
    if (number > std::numeric_limits<int>::max()) return damaged("a number is too large", at_);
  }
  return static_cast<uint32_t>(number);
}

Result<PictureHeader> PnmReader::open(ByteView file, const PictureWish&) {
  file_ = file;
  at_ = 2;
  kind_ = static_cast<char>(file[1]);
  most_ = 1;
  HR_TRY(const uint32_t width, next_number());
  HR_TRY(const uint32_t height, next_number());
  const bool bits = kind_ == '1' || kind_ == '4';
  const bool text = kind_ <= '3';
  const bool color = kind_ == '3' || kind_ == '6';
  if (!bits) {
    HR_TRY(most_, next_number());
  }
  if (width == 0 || height == 0) return damaged("its header gives no size", at_);
  if (most_ == 0 || most_ > 65535) return damaged("its largest value is not 1 to 65535", at_);
  if (at_ == file.size() || !is_space(as_text(file)[at_]))
    return damaged("its header does not end", at_);
  ++at_;
  header_ = {};
  header_.width = static_cast<int>(width);
  header_.height = static_cast<int>(height);
  header_.channels = color ? 3 : 1;
  // A sample of text is a character at least; spaces between those of PBM may be missing.
  const uint64_t line = bits && !text
                            ? (uint64_t{width} + 7) / 8
                            : uint64_t{width} * (color ? 3 : 1) * (!text && most_ > 255 ? 2 : 1);
  if (line > (file.size() - at_) / height) return damaged("the file ends too soon", file.size());
  return header_;
}

/// Half to even, as Python rounds, and 16 bits of gray by way of 65535: Pillow's numbers.
uint8_t PnmReader::scaled(uint32_t value) const {
  if (most_ == 255) return static_cast<uint8_t>(std::min(value, 255u));
  const double share = static_cast<double>(value) / most_;
  if (header_.channels == 1 && most_ > 255)
    return static_cast<uint8_t>(std::min(65535.0, std::nearbyint(share * 65535)) / 256);
  return static_cast<uint8_t>(std::min(255.0, std::nearbyint(share * 255)));
}

Status PnmReader::read_text(uint8_t* out) {
  const auto count = static_cast<size_t>(header_.width) * static_cast<size_t>(header_.height) *
                     static_cast<size_t>(header_.channels);
  for (size_t i = 0; i < count; ++i) {
    if (kind_ == '1') {  // digits may touch
      const std::string_view text = as_text(file_);
      while (at_ < text.size() && is_space(text[at_])) ++at_;
      if (at_ == text.size()) return damaged("the file ends too soon", at_);
      if (text[at_] != '0' && text[at_] != '1') return damaged("0 or 1 was expected", at_);
      out[i] = text[at_++] == '1' ? 0 : 255;
      continue;
    }
    HR_TRY(const uint32_t value, next_number());
    if (value > most_) return damaged("a sample is larger than the largest", at_);
    out[i] = scaled(value);
  }
  return Status();
}

void PnmReader::read_bytes(uint8_t* out) const {
  const auto width = static_cast<size_t>(header_.width);
  const auto height = static_cast<size_t>(header_.height);
  const auto* in = reinterpret_cast<const uint8_t*>(file_.data() + at_);
  if (kind_ == '4') {
    const size_t line = (width + 7) / 8;
    for (size_t y = 0; y < height; ++y)
      for (size_t x = 0; x < width; ++x)
        *out++ = (in[y * line + x / 8] >> (7 - x % 8) & 1) != 0 ? 0 : 255;
    return;
  }
  const size_t count = width * height * static_cast<size_t>(header_.channels);
  if (most_ == 255) {
    std::copy_n(in, count, out);
  } else if (most_ < 255) {
    for (size_t i = 0; i < count; ++i) out[i] = scaled(in[i]);
  } else {
    for (size_t i = 0; i < count; ++i) out[i] = scaled(in[2 * i] * 256u + in[2 * i + 1]);
  }
}

Result<Picture> PnmReader::read(const Box& box, int, ReusedBuffer& into) {
  const auto channels = static_cast<size_t>(header_.channels);
  const size_t stride = static_cast<size_t>(header_.width) * channels;
  uint8_t* pixels = into.take_pixels(stride * static_cast<size_t>(header_.height));
  if (kind_ <= '3') {
    HR_CHECK(read_text(pixels));
  } else {
    read_bytes(pixels);
  }
  const Picture picture{pixels, header_.width, header_.height, header_.channels, stride};
  return cut(picture, box);
}

}  // namespace headrace
