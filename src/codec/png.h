// PNG by libpng (which is given inflated data): every depth, palette, transparency and interlace.
// 16 bits become the upper 8.
//
// Strict about the pixels: wrong checksums (of any chunk), missing or broken data and a missing end
// are errors. Chunks that no pixel depends on (text, profiles, gamma) are stepped over unread.
#pragma once

#include <memory>

#include "codec/arena.h"
#include "codec/picture_reader.h"
#include "codec/png_image_data.h"

namespace headrace {

struct PngState;

class PngReader final : public PictureReader {
 public:
  PngReader();
  ~PngReader() override;

  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  /// Decodes the whole picture: each line of a PNG is made from the one above it.
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  Arena memory_;  ///< for the codec
  std::unique_ptr<PngState> state_;
  PngImageData image_data_;
};

}  // namespace headrace
