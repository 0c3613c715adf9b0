// JPEG by libjpeg-turbo. By default with its default transform and upsampling, so that pixels
// equal those of every other reader built on it (Pillow, OpenCV, torchvision); the fast settings
// take the fast transform, plain upsampling and, where asked for, 1/2, 1/4 or 1/8 of the size.
//
// Of a box only what it needs is decoded: lines above it are skipped (their Huffman codes must be
// read, their pixels need not be made), columns beside it likewise, lines below it are never read.
//
// Strict: the codec's warnings about damaged data are errors here, since a half gray picture would
// train silently. Only stray bytes between the header's segments are let pass, as no pixel depends
// on them. A file that is cut is found out also where the box lies above the cut; damage inside
// the lines below the box is not, for they are not read. Refused: arithmetic coding, more than
// kJpegScanLimit scans, and a header that announces more blocks than the file has bits.
#pragma once

#include <memory>

#include "codec/picture_reader.h"

namespace headrace {

/// Real files have up to about 20; thousands are an attack on the reader's time.
inline constexpr int kJpegScanLimit = 100;

struct JpegState;

class JpegReader final : public PictureReader {
 public:
  JpegReader();
  ~JpegReader() override;

  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  std::unique_ptr<JpegState> state_;
};

}  // namespace headrace
