#include "codec/picture.h"

#include <algorithm>
#include <string_view>

namespace headrace {
namespace {

/// A TIFF block is read through this: numbers of its byte order, zero past its end.
class TiffView {
 public:
  TiffView(ByteView bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  uint32_t u16(size_t at) const { return number(at, 2); }
  uint32_t u32(size_t at) const { return number(at, 4); }
  bool has(size_t at, size_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }

 private:
  uint32_t number(size_t at, size_t size) const {
    if (!has(at, size)) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t digit = big_endian_ ? i : size - 1 - i;
      value = value << 8 | std::to_integer<uint32_t>(bytes_[at + digit]);
    }
    return value;
  }

  ByteView bytes_;
  bool big_endian_;
};

uint8_t luma(const uint8_t* rgb) {
  // 0.299, 0.587, 0.114 in units of 2^-16.
  return static_cast<uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

/// One pixel by way of RGBA; `out` may be `in`.
void convert_pixel(const uint8_t* in, int from, uint8_t* out, int to) {
  const bool color = from >= 3;
  const uint8_t rgb[3] = {in[0], color ? in[1] : in[0], color ? in[2] : in[0]};
  const uint8_t alpha = from == 2 ? in[1] : from == 4 ? in[3] : uint8_t{255};
  if (to <= 2) {
    out[0] = color ? luma(rgb) : rgb[0];
    if (to == 2) out[1] = alpha;
    return;
  }
  std::copy(rgb, rgb + 3, out);
  if (to == 4) out[3] = alpha;
}

}  // namespace

Result<PictureKind> sniff_picture(ByteView file) {
  const std::string_view text = as_text(file);
  if (text.starts_with("\xFF\xD8\xFF")) return PictureKind::jpeg;
  if (text.starts_with("\x89PNG\r\n\x1A\n")) return PictureKind::png;
  if (text.size() >= 12 && text.starts_with("RIFF") && text.substr(8, 4) == "WEBP")
    return PictureKind::webp;
  if (text.empty()) return Error{Code::kCorrupt, "no picture: the field is empty", {}, {}};
  std::string shown;
  for (const char c : text.substr(0, 8)) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<uint8_t>(c);
    if (!shown.empty()) shown += ' ';
    shown += kDigits[byte >> 4];
    shown += kDigits[byte & 15];
  }
  return Error{Code::kCorrupt,
               "no JPEG, PNG or WebP picture: its first bytes are " + shown,
               {},
               "read the field as bytes and decode it yourself, or convert the files"};
}

int exif_orientation(ByteView tiff) {
  constexpr uint32_t kOrientationTag = 0x0112;
  constexpr uint32_t kShort = 3;
  constexpr uint32_t kLong = 4;
  const std::string_view text = as_text(tiff);
  const bool big_endian = text.starts_with("MM");
  if (!big_endian && !text.starts_with("II")) return 1;
  const TiffView view(tiff, big_endian);
  if (view.u16(2) != 42) return 1;
  const size_t directory = view.u32(4);
  const uint32_t entries = view.u16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    if (!view.has(entry, 12)) return 1;
    if (view.u16(entry) != kOrientationTag) continue;
    const uint32_t type = view.u16(entry + 2);
    const uint32_t value = type == kShort  ? view.u16(entry + 8)
                           : type == kLong ? view.u32(entry + 8)
                                           : 1;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Error picture_error(const char* format, const std::string& words) {
  return {Code::kCorrupt, std::string("damaged ") + format + ": " + words, {}, {}};
}

void convert_channels(uint8_t* pixels, size_t count, int from, int to) {
  if (from == to) return;
  const auto in_step = static_cast<size_t>(from);
  const auto out_step = static_cast<size_t>(to);
  if (to < from) {
    for (size_t i = 0; i < count; ++i)
      convert_pixel(pixels + i * in_step, from, pixels + i * out_step, to);
  } else {
    for (size_t i = count; i-- > 0;)
      convert_pixel(pixels + i * in_step, from, pixels + i * out_step, to);
  }
}

int wanted_channels(Channels wish, int in_file) {
  switch (wish) {
    case Channels::rgb:
      return 3;
    case Channels::gray:
      return 1;
    case Channels::rgba:
      return 4;
    case Channels::unchanged:
      return in_file;
  }
  return in_file;
}

}  // namespace headrace
