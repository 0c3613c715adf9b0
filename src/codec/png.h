// PNG by libpng: every depth, palette, transparency and interlace. 16 bits become the upper 8.
//
// Strict about the pixels: wrong checksums (of any chunk), missing or broken data and a missing end
// are errors. Chunks that no pixel depends on (text, profiles, gamma) are stepped over unread.
#pragma once

#include <memory>

#include "codec/picture.h"

namespace headrace {

struct PngState;

/// Reads one file: open(), then read(). Belongs to one thread.
class PngReader {
 public:
  PngReader();
  ~PngReader();

  /// Reads the header. The file's bytes must outlive the reader.
  Result<PictureHeader> open(ByteView file, Channels wish);
  /// Writes the pixels without gaps; `pixels` has width x height x buffer_pixel bytes.
  Status read(uint8_t* pixels);
  /// Known after read(), as the chunk may follow the pixels.
  int orientation() const;

 private:
  std::unique_ptr<PngState> state_;
};

}  // namespace headrace
