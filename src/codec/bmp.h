// BMP: Windows' and OS/2's headers; 1, 4 and 8 bits with a palette, run lengths, 16, 24 and 32 bits
// with or without masks; lines from the bottom or from the top. Alpha where the header has a mask
// for it. The format is Microsoft's ("Bitmap Storage", Windows API).
#pragma once

#include <array>

#include "codec/picture_reader.h"

namespace headrace {

class BmpReader final : public PictureReader {
 public:
  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  /// Bits of one channel in a pixel of 16 or 32 bits.
  struct Mask {
    int shift = 0;
    uint32_t most = 0;  ///< the largest value; 0: no such channel
    uint8_t of(uint32_t pixel) const {
      return static_cast<uint8_t>(most == 0 ? 0 : (pixel >> shift & most) * 255ull / most);
    }
  };

  Status read_header();
  Status read_masks(size_t at, uint32_t compression);
  Status read_palette(size_t at, size_t entry, uint32_t colors);
  Result<ByteView> unpack_runs(ReusedBuffer& into) const;
  void write_pixel(const std::byte* line, int x, uint8_t* out) const;

  ByteView file_;
  PictureHeader header_;
  int bits_ = 0;           ///< a pixel
  bool runs_ = false;      ///< compressed by run lengths
  bool from_top_ = false;  ///< the first line stored is the top one
  size_t data_ = 0;        ///< where pixels begin
  std::array<Mask, 4> masks_;
  std::array<std::array<uint8_t, 3>, 256> palette_;
};

}  // namespace headrace
