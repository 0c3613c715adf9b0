#include "codec/webp.h"

#include <webp/decode.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/little_endian.h"
#include "codec/orientation.h"

namespace headrace {
namespace {

constexpr size_t kRiffHeader = 12;   // "RIFF", size, "WEBP"
constexpr size_t kChunkHeader = 8;   // name, size
constexpr size_t kFrameHeader = 16;  // position, size, duration, flags

const uint8_t* raw(ByteView bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

/// The content of the first chunk of that name; nothing if it is not there or cut.
std::optional<ByteView> find_chunk(ByteView file, std::string_view name) {
  size_t at = kRiffHeader;
  while (file.size() >= at + kChunkHeader) {
    const uint64_t size = load_le<uint32_t>(file.data() + at + 4);
    const size_t begin = at + kChunkHeader;
    if (size > file.size() - begin) return std::nullopt;
    if (as_text(file.subspan(at, 4)) == name) return file.subspan(begin, size);
    at = begin + size + (size & 1);
  }
  return std::nullopt;
}

const char* words_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case VP8_STATUS_BITSTREAM_ERROR:
      return "its data is broken";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it uses a feature that is not supported";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file ends too soon";
    default:
      return "it could not be decoded";
  }
}

/// A box that begins at even numbers, as a sample of colour does, with one sample more on each
/// side: fancy upsampling looks at the neighbours, and takes the edge of the box for that of the
/// picture.
Box with_margin(const Box& box, Size picture) {
  const int top = std::max(0, (box.top & ~1) - 2);
  const int left = std::max(0, (box.left & ~1) - 2);
  const int bottom = std::min(picture.height, box.top + box.height + 2);
  const int right = std::min(picture.width, box.left + box.width + 2);
  return {top, left, bottom - top, right - left};
}

Error error_of(VP8StatusCode status) { return picture_error("WebP", words_of(status)); }

}  // namespace

Result<PictureHeader> WebpReader::open(ByteView file, const PictureWish& wish) {
  header_ = {};
  fast_ = wish.fast;
  const uint64_t announced = uint64_t{load_le<uint32_t>(file.data() + 4)} + kChunkHeader;
  if (announced > file.size())
    return picture_error("WebP", "it is cut: " + std::to_string(announced) +
                                     " bytes are announced, " + std::to_string(file.size()) +
                                     " are there");
  frame_ = file;
  WebPBitstreamFeatures features;
  auto status = WebPGetFeatures(raw(file), file.size(), &features);
  if (status != VP8_STATUS_OK) return error_of(status);
  if (features.has_animation != 0) {
    const int width = features.width;
    const int height = features.height;
    const auto frame = find_chunk(file, "ANMF");
    if (!frame || frame->size() < kFrameHeader)
      return picture_error("WebP", "it is an animation without a whole frame");
    // A frame is the same chunks as a still picture without the RIFF around them.
    frame_ = frame->subspan(kFrameHeader);
    status = WebPGetFeatures(raw(frame_), frame_.size(), &features);
    if (status != VP8_STATUS_OK) return error_of(status);
    if (features.width != width || features.height != height)
      return picture_error("WebP", "the first frame of the animation is not the whole picture");
  }
  const bool alpha = wish.channels == Channels::rgba ||
                     (wish.channels == Channels::unchanged && features.has_alpha != 0);
  header_.width = features.width;
  header_.height = features.height;
  header_.channels = alpha ? 4 : 3;
  if (const auto exif = find_chunk(file, "EXIF")) {
    constexpr std::string_view kPrefix("Exif\0\0", 6);  // some writers put JPEG's prefix there
    header_.orientation = exif_orientation(
        as_text(*exif).starts_with(kPrefix) ? exif->subspan(kPrefix.size()) : *exif);
  }
  return header_;
}

Result<Picture> WebpReader::read(const Box& box, int, ReusedBuffer& into) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0)
    return Error{Code::kFailure, "the libwebp in use is another version than built for", {}, {}};
  const Box part = with_margin(box, {header_.height, header_.width});
  const size_t stride = static_cast<size_t>(part.width) * static_cast<size_t>(header_.channels);
  const MutableBytes pixels = into.take(stride * static_cast<size_t>(part.height));
  config.options.use_cropping = 1;
  config.options.crop_left = part.left;
  config.options.crop_top = part.top;
  config.options.crop_width = part.width;
  config.options.crop_height = part.height;
  config.options.no_fancy_upsampling = fast_ ? 1 : 0;
  config.output.colorspace = header_.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = reinterpret_cast<uint8_t*>(pixels.data());
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = pixels.size();
  const auto status = WebPDecode(raw(frame_), frame_.size(), &config);
  if (status != VP8_STATUS_OK) return error_of(status);
  const Picture picture{config.output.u.RGBA.rgba, part.width, part.height, header_.channels,
                        stride};
  return cut(picture, {box.top - part.top, box.left - part.left, box.height, box.width});
}

}  // namespace headrace
