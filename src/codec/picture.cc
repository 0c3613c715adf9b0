#include "codec/picture.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace headrace {
namespace {

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

/// TIFF and BigTIFF, of either byte order.
bool is_tiff(std::string_view text) {
  using namespace std::string_view_literals;
  for (const std::string_view start : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv})
    if (text.starts_with(start)) return true;
  return false;
}

bool is_pnm(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f#";
  return text.size() >= 3 && text[0] == 'P' && text[1] >= '1' && text[1] <= '6' &&
         kSpace.find(text[2]) != kSpace.npos;
}

/// The file's own brand, or one of those it says to be compatible with.
bool has_brand(std::string_view text, std::initializer_list<std::string_view> wanted) {
  if (text.size() < 16 || text.substr(4, 4) != "ftyp") return false;
  const std::string_view brands = text.substr(8, 56);
  return std::ranges::any_of(
      wanted, [&](std::string_view brand) { return brands.find(brand) != brands.npos; });
}

bool is_svg(std::string_view text) {
  constexpr size_t kProlog = 1024;
  return text.starts_with('<') && text.substr(0, kProlog).find("<svg") != text.npos;
}

/// The name of a format that people have pictures in and that we do not read; empty if it is none.
std::string_view unread_format(std::string_view text) {
  using namespace std::string_view_literals;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kStarts = {
      {{"qoif"sv, "QOI"},
       {"#?RADIANCE"sv, "Radiance HDR"},
       {"#?RGBE"sv, "Radiance HDR"},
       {"v/1\x01"sv, "OpenEXR"},
       {"\xFF\x0A"sv, "JPEG XL"},
       {"\0\0\0\x0CJXL \r\n"sv, "JPEG XL"},
       {"\0\0\0\x0CjP  \r\n"sv, "JPEG 2000"},
       {"\xFF\x4F\xFF\x51"sv, "JPEG 2000"},
       {"P7\n"sv, "PAM"},
       {"PF\n"sv, "PFM"},
       {"Pf\n"sv, "PFM"}}};
  for (const auto& [start, name] : kStarts)
    if (text.starts_with(start)) return name;
  if (has_brand(text, {"heic", "heix", "hevc", "heim", "heis", "mif1", "msf1"})) return "HEIF";
  return is_svg(text) ? "SVG" : "";
}

}  // namespace

Result<PictureKind> sniff_picture(ByteView file) {
  const std::string_view text = as_text(file);
  if (text.starts_with("\xFF\xD8\xFF")) return PictureKind::jpeg;
  if (text.starts_with("\x89PNG\r\n\x1A\n")) return PictureKind::png;
  if (text.size() >= 12 && text.starts_with("RIFF") && text.substr(8, 4) == "WEBP")
    return PictureKind::webp;
  if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) return PictureKind::gif;
  if (text.starts_with("BM")) return PictureKind::bmp;
  if (is_tiff(text)) return PictureKind::tiff;
  if (is_pnm(text)) return PictureKind::pnm;
  if (has_brand(text, {"avif", "avis"})) return PictureKind::avif;
  if (text.empty()) return Error{Code::kCorrupt, "no picture: the field is empty", {}, {}};
  const std::string hint =
      "read the field as bytes and decode it yourself, or convert the files: JPEG, PNG, WebP, GIF, "
      "TIFF, BMP, PNM and AVIF are read";
  if (const std::string_view format = unread_format(text); !format.empty())
    return Error{Code::kCorrupt,
                 "a picture in the format " + std::string(format) + ", which is not read",
                 {},
                 hint};
  std::string shown;
  for (const char c : text.substr(0, 8)) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<uint8_t>(c);
    if (!shown.empty()) shown += ' ';
    shown += kDigits[byte >> 4];
    shown += kDigits[byte & 15];
  }
  return Error{
      Code::kCorrupt, "no picture of a known kind: its first bytes are " + shown, {}, hint};
}

Error picture_error(const char* format, const std::string& words) {
  return {Code::kCorrupt, std::string("damaged ") + format + ": " + words, {}, {}};
}

Picture convert_channels(const Picture& from, int to, ReusedBuffer& into) {
  if (from.channels == to) return from;
  const auto in_step = static_cast<size_t>(from.channels);
  const auto out_step = static_cast<size_t>(to);
  const size_t stride = static_cast<size_t>(from.width) * out_step;
  auto* out = into.take_pixels(stride * static_cast<size_t>(from.height));
  for (int y = 0; y < from.height; ++y) {
    const uint8_t* in = from.line(y);
    uint8_t* line = out + static_cast<size_t>(y) * stride;
    for (int x = 0; x < from.width; ++x, in += in_step, line += out_step)
      convert_pixel(in, from.channels, line, to);
  }
  return {out, from.width, from.height, to, stride};
}

Picture cut(const Picture& from, const Box& box) {
  Picture picture = from;
  picture.pixels =
      from.line(box.top) + static_cast<size_t>(box.left) * static_cast<size_t>(from.channels);
  picture.width = box.width;
  picture.height = box.height;
  return picture;
}

Box divided(const Box& box, int shrink) {
  const int top = box.top / shrink;
  const int left = box.left / shrink;
  const int bottom = (box.top + box.height + shrink - 1) / shrink;
  const int right = (box.left + box.width + shrink - 1) / shrink;
  return {top, left, bottom - top, right - left};
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
