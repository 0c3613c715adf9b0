// AVIF by libavif: the first frame; 8 to 12 bits (more than 8 become 8), alpha, rotation and mirror
// (as an orientation).
#pragma once

#include <memory>

#include "codec/picture_reader.h"

namespace headrace {

struct AvifState;

class AvifReader final : public PictureReader {
 public:
  AvifReader();
  ~AvifReader() override;

  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  /// Decodes the whole frame.
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  std::unique_ptr<AvifState> state_;
  PictureHeader header_;
  bool fast_ = false;
};

}  // namespace headrace
