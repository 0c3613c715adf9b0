#include "codec/orientation.h"

#include <algorithm>
#include <string_view>

namespace headrace {
namespace {

/// A TIFF block is read through this: numbers of its byte order, zero past its end.
class TiffView {
 public:
  TiffView(ByteView bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  uint32_t u16(size_t at) const { return number(at, 2); }
  uint32_t u32(size_t at) const { return number(at, 4); }
  bool has(size_t at, size_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }

 private:
  uint32_t number(size_t at, size_t size) const {
    if (!has(at, size)) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t digit = big_endian_ ? i : size - 1 - i;
      value = value << 8 | std::to_integer<uint32_t>(bytes_[at + digit]);
    }
    return value;
  }

  ByteView bytes_;
  bool big_endian_;
};

/// From the upright picture's lines to the file's: some are taken from their other end …
bool flips_x(int orientation) {
  return orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
}
bool flips_y(int orientation) {
  return orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
}

/// A box of the upright picture, taken from the other ends.
Box flipped(const Box& box, Size upright, int orientation) {
  const int left = flips_x(orientation) ? upright.width - box.left - box.width : box.left;
  const int top = flips_y(orientation) ? upright.height - box.top - box.height : box.top;
  return {top, left, box.height, box.width};
}

Box transposed(const Box& box) { return {box.left, box.top, box.width, box.height}; }

template <int kChannels>
void turn(const Picture& from, int orientation, uint8_t* out) {
  // Orientations 1-8: from the first line and column of the file to those of the upright picture.
  const bool flip_x = flips_x(orientation);
  const bool flip_y = flips_y(orientation);
  const bool transpose = lies_on_its_side(orientation);
  const int width = transpose ? from.height : from.width;
  const int height = transpose ? from.width : from.height;
  for (int y = 0; y < height; ++y) {
    const int up = flip_y ? height - 1 - y : y;
    for (int x = 0; x < width; ++x, out += kChannels) {
      const int along = flip_x ? width - 1 - x : x;
      const int from_x = transpose ? up : along;
      const int from_y = transpose ? along : up;
      const uint8_t* pixel = from.line(from_y) + static_cast<size_t>(from_x) * kChannels;
      std::copy(pixel, pixel + kChannels, out);
    }
  }
}

}  // namespace

int exif_orientation(ByteView tiff) {
  constexpr uint32_t kOrientationTag = 0x0112;
  constexpr uint32_t kShort = 3;
  constexpr uint32_t kLong = 4;
  const std::string_view text = as_text(tiff);
  const bool big_endian = text.starts_with("MM");
  if (!big_endian && !text.starts_with("II")) return 1;
  const TiffView view(tiff, big_endian);
  if (view.u16(2) != 42) return 1;
  const size_t directory = view.u32(4);
  const uint32_t entries = view.u16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    if (!view.has(entry, 12)) return 1;
    if (view.u16(entry) != kOrientationTag) continue;
    const uint32_t type = view.u16(entry + 2);
    const uint32_t value = type == kShort  ? view.u16(entry + 8)
                           : type == kLong ? view.u32(entry + 8)
                                           : 1;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Size upright_size(Size in_file, int orientation) {
  if (!lies_on_its_side(orientation)) return in_file;
  return {in_file.width, in_file.height};
}

Box box_in_file(const Box& box, Size upright, int orientation) {
  const Box there = flipped(box, upright, orientation);
  return lies_on_its_side(orientation) ? transposed(there) : there;
}

Box box_upright(const Box& in_file, Size upright, int orientation) {
  return flipped(lies_on_its_side(orientation) ? transposed(in_file) : in_file, upright,
                 orientation);
}

Picture turn_upright(const Picture& from, int orientation, ReusedBuffer& into) {
  auto* out = into.take_pixels(static_cast<size_t>(from.width) * static_cast<size_t>(from.height) *
                               static_cast<size_t>(from.channels));
  switch (from.channels) {
    case 1:
      turn<1>(from, orientation, out);
      break;
    case 2:
      turn<2>(from, orientation, out);
      break;
    case 3:
      turn<3>(from, orientation, out);
      break;
    default:
      turn<4>(from, orientation, out);
      break;
  }
  const bool side = lies_on_its_side(orientation);
  const int width = side ? from.height : from.width;
  return {out, width, side ? from.width : from.height, from.channels,
          static_cast<size_t>(width) * static_cast<size_t>(from.channels)};
}

}  // namespace headrace
