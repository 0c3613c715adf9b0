// GIF by giflib: the first frame, on the whole canvas, which it may not fill. What it leaves free
// has the transparent colour, or the first one of the palette, as Pillow shows it.
#pragma once

#include <memory>
#include <vector>

#include "codec/picture_reader.h"

namespace headrace {

struct GifState;

class GifReader final : public PictureReader {
 public:
  GifReader();
  ~GifReader() override;

  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  /// Decodes the whole frame.
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  std::unique_ptr<GifState> state_;
  PictureHeader header_;
  std::vector<uint8_t> canvas_;  ///< indices of colours
};

}  // namespace headrace
