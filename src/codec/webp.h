// WebP by libwebp: lossy, lossless, alpha; of an animation the first frame, which must cover the
// whole canvas.
#pragma once

#include "codec/picture.h"

namespace headrace {

/// Reads one file: open(), then read(). Belongs to one thread.
class WebpReader {
 public:
  /// Reads the header. The file's bytes must outlive the reader.
  Result<PictureHeader> open(ByteView file, Channels wish);
  /// Writes the pixels without gaps; `pixels` has width x height x buffer_pixel bytes.
  Status read(uint8_t* pixels);

 private:
  ByteView frame_;
  PictureHeader header_;
};

}  // namespace headrace
