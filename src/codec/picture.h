// What the picture codecs and the transforms hand to each other: 8-bit pixels, rows of interleaved
// channels (gray, gray+alpha, RGB or RGBA), and the header that is known before decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "headrace/bytes.h"
#include "headrace/field.h"
#include "headrace/result.h"

namespace headrace {

/// A rectangle of pixels. Owns nothing.
struct Picture {
  const uint8_t* pixels = nullptr;
  int width = 0;
  int height = 0;
  int channels = 3;
  size_t stride = 0;  ///< bytes from one line to the next

  const uint8_t* line(int y) const { return pixels + static_cast<size_t>(y) * stride; }
};

/// What a file's header says.
struct PictureHeader {
  int width = 0;
  int height = 0;
  int channels = 0;      ///< that the codec will write: 1 gray, 2 gray+alpha, 3 RGB, 4 RGBA
  int buffer_pixel = 0;  ///< bytes a pixel that the codec needs while it decodes
  int orientation = 1;   ///< EXIF, 1 (upright) to 8
};

enum class PictureKind : uint8_t { jpeg, png, webp };

/// The kind by the first bytes; an unknown one is an error that shows them.
Result<PictureKind> sniff_picture(ByteView file);

/// The EXIF orientation in a TIFF block, 1 if there is none or the block is damaged: damaged
/// metadata must not lose the sample.
int exif_orientation(ByteView tiff);

/// An error about damaged pixels in the codec's own words.
Error picture_error(const char* format, const std::string& words);

/// Turns `from` channels into `to` channels in place; `pixels` has room for the larger of both.
/// Gray is ITU-R 601 luma in 16-bit fixed point, as Pillow's; alpha is dropped or set to opaque.
void convert_channels(uint8_t* pixels, size_t count, int from, int to);

/// Channels of a row for a wish and what the file has.
int wanted_channels(Channels wish, int in_file);

}  // namespace headrace
