// PBM, PGM and PPM, as text and as bytes (P1 to P6), 1 to 16 bits a sample; any largest value is
// scaled to 255, as Pillow does it. The format is Netpbm's (pbm(5), pgm(5), ppm(5)). PAM and the
// floats of PFM are refused.
#pragma once

#include "codec/picture_reader.h"

namespace headrace {

class PnmReader final : public PictureReader {
 public:
  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  Result<uint32_t> next_number();
  Status read_text(uint8_t* out);
  void read_bytes(uint8_t* out) const;
  uint8_t scaled(uint32_t value) const;

  ByteView file_;
  size_t at_ = 0;
  char kind_ = '0';    ///< '1' to '6'
  uint32_t most_ = 1;  ///< the value of white
  PictureHeader header_;
};

}  // namespace headrace
