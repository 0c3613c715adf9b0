// What every picture codec does for the image decoder: the header first, so that crops are drawn
// and limits are checked before memory is taken, then the pixels of a box.
//
//      the file's picture                     what read() gives
//   +----------------------+
//   |                      |               +----------+
//   |      +----------+    |   read(box)   |          |   at full size, or at 1/2, 1/4, 1/8
//   |      |   box    |    |  ---------->  |          |   of it for a codec that can
//   |      +----------+    |               +----------+
//   +----------------------+
//
// A reader belongs to one thread and reads one file after the other: what it has allocated for one
// file serves the next. Errors are Code::kCorrupt, in the codec's words.
#pragma once

#include "codec/geometry.h"
#include "codec/picture.h"
#include "codec/reused_buffer.h"

namespace headrace {

/// What of a recipe a codec can make use of.
struct PictureWish {
  Channels channels = Channels::rgb;
  bool fast = false;  ///< DecodeSettings::fast
  /// PNG: no colours but the stored numbers, 1 to 3 bytes a pixel, the lowest first. `channels` is
  /// of no account, and pictures with alpha are refused.
  bool numbers = false;
};

class PictureReader {
 public:
  virtual ~PictureReader() = default;

  /// Reads the header and takes no memory for the size that it announces. The file's bytes must
  /// live until read() is done.
  virtual Result<PictureHeader> open(ByteView file, const PictureWish& wish) = 0;

  /// The pixels of `box`, or of divided(box, shrink) of the smaller picture; they lie in `into`.
  /// Once a file, after open(). Preconditions: the box is inside of the picture, in the file's
  /// own orientation; `shrink` is 1, 2, 4 or 8, and 1 unless the header said that it can shrink.
  virtual Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) = 0;
};

}  // namespace headrace
