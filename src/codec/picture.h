// What the picture codecs and the transforms hand to each other: 8-bit pixels, rows of interleaved
// channels (gray, gray+alpha, RGB or RGBA), and the header that is known before decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "codec/geometry.h"
#include "codec/reused_buffer.h"
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
  int channels = 0;        ///< that the codec will write: 1 gray, 2 gray+alpha, 3 RGB, 4 RGBA
  int orientation = 1;     ///< EXIF, 1 (upright) to 8
  int largest_shrink = 1;  ///< by which the codec may divide the sides while it decodes: 1 to 8
};

enum class PictureKind : uint8_t { jpeg, png, webp, gif, tiff, bmp, pnm, avif };
inline constexpr size_t kPictureKinds = 8;

/// The kind by the first bytes; an unknown one is an error that shows them.
Result<PictureKind> sniff_picture(ByteView file);

/// An error about damaged pixels in the codec's own words.
Error picture_error(const char* format, const std::string& words);

/// The picture with `to` channels: itself if it has them, else a new one in `into`. Gray is ITU-R
/// 601 luma in 16-bit fixed point, as Pillow's; alpha is dropped or set to opaque.
Picture convert_channels(const Picture& from, int to, ReusedBuffer& into);

/// A part of the picture; the same pixels in memory. Precondition: the box is inside of it.
Picture cut(const Picture& from, const Box& box);

/// The box in a picture whose sides are divided by `shrink`: the smallest that has all of it.
Box divided(const Box& box, int shrink);

/// Channels of a row for a wish and what the file has.
int wanted_channels(Channels wish, int in_file);

}  // namespace headrace
