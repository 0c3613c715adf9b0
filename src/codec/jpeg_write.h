// Writes JPEG files, by libjpeg-turbo: from pixels, or from the coefficients of another JPEG file.
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "codec/picture.h"

namespace headrace {

/// The picture as a baseline JPEG with optimised Huffman tables; colours at half the resolution
/// (4:2:0), the library's default. Appends to `out`. `quality` is libjpeg's, 1 to 100. Picture:
/// gray (1 channel) or RGB (3), without gaps between the lines or with.
Status encode_jpeg(const Picture& picture, int quality, std::string& out);

/// What the header of a JPEG says, without decoding.
struct JpegFacts {
  int width = 0;
  int height = 0;
  /// One scan, Huffman-coded, 8 bits: what every decoder reads fastest.
  bool baseline = false;
  int orientation = 1;  ///< EXIF
};
Result<JpegFacts> read_jpeg_facts(ByteView file);

enum class JpegMetadata : uint8_t {
  kKeep,   ///< every APP segment and comment
  kStrip,  ///< none but the EXIF orientation, without which the pixels would lie on their side
};

/// The same picture as a baseline JPEG, without loss: quantised coefficients are copied, only their
/// coding changes (what `jpegtran -optimize` does), so pixels are bit-identical. Reads progressive,
/// extended and arithmetic-coded files. Appends to `out`. False, and nothing is appended, for a
/// file whose scans are incomplete: decoders smooth it, which they would not do afterwards. Strict
/// as JpegReader: a file that the codec warns about is an error.
Result<bool> jpeg_to_baseline(ByteView file, JpegMetadata metadata, std::string& out);

}  // namespace headrace
