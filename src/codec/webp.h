// WebP by libwebp: lossy, lossless, alpha; of an animation the first frame, which must cover the
// whole canvas. Of a box only what it needs is decoded: lines below it are not.
#pragma once

#include "codec/picture_reader.h"

namespace headrace {

class WebpReader final : public PictureReader {
 public:
  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  ByteView frame_;
  PictureHeader header_;
  bool fast_ = false;
};

}  // namespace headrace
