// TIFF by libtiff: the first page; strips and tiles, every compression and colour model that
// libtiff turns into RGB, 1 to 16 bits a sample (16 become the upper 8). Samples of floats or of
// 32 bits are refused: there is no one way to show them. Alpha is kept as it is stored.
#pragma once

#include <memory>

#include "codec/picture_reader.h"

namespace headrace {

struct TiffState;

class TiffReader final : public PictureReader {
 public:
  TiffReader();
  ~TiffReader() override;

  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  /// Decodes the whole page.
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  std::unique_ptr<TiffState> state_;
  PictureHeader header_;
};

}  // namespace headrace
