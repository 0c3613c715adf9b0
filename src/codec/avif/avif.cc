// AVIF by libavif: the first frame; 8 to 12 bits (more than 8 become 8), alpha, rotation and mirror
// (as an orientation). A lazy library: libavif brings four codecs of AV1 along, and loading them
// takes longer than the first batch.
#include <avif/avif.h>

#include <memory>
#include <string>

#include "codec/lazy_reader.h"

namespace headrace {
namespace {

struct Destroy {
  void operator()(avifDecoder* codec) const { avifDecoderDestroy(codec); }
};

class AvifReader final : public PictureReader {
 public:
  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  /// Decodes the whole frame.
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  std::unique_ptr<avifDecoder, Destroy> codec_;
  PictureHeader header_;
  bool fast_ = false;
};

Error error_of(const avifDecoder& codec, avifResult result) {
  std::string words = avifResultToString(result);
  if (codec.diag.error[0] != '\0') words += std::string(": ") + codec.diag.error;
  return picture_error("AVIF", words);
}

/// Rotation (quarter turns against the clock), then mirror, as EXIF has them.
int orientation_of(const avifImage& image) {
  const bool turned = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0;
  const bool mirrored = (image.transformFlags & AVIF_TRANSFORM_IMIR) != 0;
#if AVIF_VERSION >= 1000000
  const bool sideways = image.imir.axis != 0;  // left and right change places
#else
  const bool sideways = image.imir.mode != 0;
#endif
  constexpr int kTurned[4] = {1, 8, 3, 6};
  constexpr int kUpDown[4] = {4, 5, 2, 7};
  constexpr int kLeftRight[4] = {2, 7, 4, 5};
  const int angle = turned ? image.irot.angle & 3 : 0;
  if (!mirrored) return kTurned[angle];
  return sideways ? kLeftRight[angle] : kUpDown[angle];
}

Result<PictureHeader> AvifReader::open(ByteView file, const PictureWish& wish) {
  codec_.reset(avifDecoderCreate());
  if (!codec_) return Error{Code::kFailure, "libavif gives no decoder", {}, {}};
  avifDecoder& codec = *codec_;
  codec.maxThreads = 1;
  codec.ignoreExif = AVIF_TRUE;
  codec.ignoreXMP = AVIF_TRUE;
  codec.strictFlags = AVIF_STRICT_DISABLED;
  auto result =
      avifDecoderSetIOMemory(&codec, reinterpret_cast<const uint8_t*>(file.data()), file.size());
  if (result == AVIF_RESULT_OK) result = avifDecoderParse(&codec);
  if (result != AVIF_RESULT_OK) return error_of(codec, result);
  const avifImage& image = *codec.image;
  if (image.width < 1 || image.height < 1 || image.width > 65536 || image.height > 65536)
    return picture_error("AVIF", "its sides are not between 1 and 65536");
  // Where alpha is not wanted it is dropped later: libavif would blend with black.
  const bool alpha = wish.channels == Channels::rgba || codec.alphaPresent == AVIF_TRUE;
  fast_ = wish.fast;
  header_ = {};
  header_.width = static_cast<int>(image.width);
  header_.height = static_cast<int>(image.height);
  header_.channels = alpha ? 4 : 3;
  header_.orientation = orientation_of(image);
  return header_;
}

Result<Picture> AvifReader::read(const Box& box, int, ReusedBuffer& into) {
  avifDecoder& codec = *codec_;
  auto result = avifDecoderNextImage(&codec);
  if (result != AVIF_RESULT_OK) return error_of(codec, result);
  const avifImage& image = *codec.image;
  if (static_cast<int>(image.width) != header_.width ||
      static_cast<int>(image.height) != header_.height)
    return picture_error("AVIF", "its frame has another size than its header");
  avifRGBImage rgb;
  avifRGBImageSetDefaults(&rgb, &image);
  rgb.format = header_.channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.depth = 8;
  if (fast_) rgb.chromaUpsampling = AVIF_CHROMA_UPSAMPLING_FASTEST;
  rgb.rowBytes = image.width * static_cast<uint32_t>(header_.channels);
  rgb.pixels = into.take_pixels(size_t{rgb.rowBytes} * image.height);
  result = avifImageYUVToRGB(&image, &rgb);
  if (result != AVIF_RESULT_OK) return error_of(codec, result);
  const Picture frame{rgb.pixels, header_.width, header_.height, header_.channels, rgb.rowBytes};
  return cut(frame, box);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] PictureReader* headrace_make_picture_reader() {
  return new AvifReader;  // NOLINT(*-owning-memory): through a C function
}

}  // namespace headrace
