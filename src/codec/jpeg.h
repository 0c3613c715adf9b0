// JPEG by libjpeg-turbo, with its default transform and upsampling, so that pixels equal those of
// every other reader built on it (Pillow, OpenCV, torchvision).
//
// Strict: the codec's warnings about damaged data are errors here, since a half gray picture would
// train silently. Only stray bytes between the header's segments are let pass, as no pixel depends
// on them. Refused: arithmetic coding, more than kJpegScanLimit scans, and a header that announces
// more blocks than the file has bits.
#pragma once

#include <memory>

#include "codec/picture.h"

namespace headrace {

/// Real files have up to about 20; thousands are an attack on the reader's time.
inline constexpr int kJpegScanLimit = 100;

struct JpegState;

/// Reads one file: open(), then read(). Belongs to one thread.
class JpegReader {
 public:
  JpegReader();
  ~JpegReader();

  /// Reads the header. The file's bytes must outlive the reader.
  Result<PictureHeader> open(ByteView file, Channels wish);
  /// Writes the pixels without gaps; `pixels` has width x height x buffer_pixel bytes.
  Status read(uint8_t* pixels);

 private:
  std::unique_ptr<JpegState> state_;
};

}  // namespace headrace
