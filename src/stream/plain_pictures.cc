#include "stream/plain_pictures.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/try.h"

namespace headrace {
namespace {

uint32_t big_endian(ByteView bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

/// A JPEG file of gray or YCbCr pictures. Format: ITU-T T.81, annex B.
bool is_plain_jpeg(ByteView file, bool gray_wanted) {
  size_t at = 2;
  while (at + 10 <= file.size()) {
    if (file[at] != std::byte{0xff}) return false;
    const auto marker = static_cast<uint8_t>(file[at + 1]);
    if (marker == 0xff) {
      ++at;
      continue;
    }
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame) {
      const uint32_t depth = big_endian(file, at + 4, 1);
      const uint32_t components = big_endian(file, at + 9, 1);
      // Pillow makes gray of the RGB values, a decoder takes the file's own luma.
      return depth == 8 && (components == 1 || (components == 3 && !gray_wanted));
    }
    at += 2 + big_endian(file, at + 2, 2);
  }
  return false;
}

/// A PNG file of 8 bits a channel, no palette and no transparent colour. Format: PNG, clause 5.
bool is_plain_png(ByteView file) {
  if (file.size() < 33 || file[24] != std::byte{8} || file[25] == std::byte{3}) return false;
  size_t at = 8;
  while (at + 12 <= file.size()) {
    const std::string_view type = as_text(file).substr(at + 4, 4);
    if (type == "IDAT") return true;
    if (type == "tRNS") return false;
    at += 12 + size_t{big_endian(file, at, 4)};
  }
  return false;
}

bool is_plain_picture(ByteView file, bool gray_wanted) {
  const std::string_view head = as_text(file).substr(0, 16);
  if (head.starts_with("\xff\xd8\xff")) return is_plain_jpeg(file, gray_wanted);
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return is_plain_png(file);
  return head.starts_with("RIFF") && head.substr(8, 4) == "WEBP" && !gray_wanted;
}

/// v / 255, rounded to float32 once, as numpy divides. (A recipe's unit range multiplies, as
/// torch.)
const std::array<float, 256>& unit_range() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> made{};
    for (size_t v = 0; v < made.size(); ++v) made[v] = static_cast<float>(v) / 255.0F;
    return made;
  }();
  return values;
}

}  // namespace

Result<PlainPictures> PlainPictures::make(const std::string& channels, bool floats, bool planes) {
  ImageSpec spec;
  spec.channels = channels == "l"     ? Channels::gray
                  : channels == "rgb" ? Channels::rgb
                                      : Channels::rgba;
  spec.layout = planes ? Layout::chw : Layout::hwc;
  spec.upright = false;
  PlainPictures made;
  made.gray_ = channels == "l";
  made.planes_ = planes;
  made.floats_ = floats;
  HR_TRY(made.decoder_, make_decoder({"image", {"image"}, spec, std::nullopt}));
  return made;
}

bool PlainPictures::decode(ByteView file, Scratch& scratch, const PicturePlace& place) const {
  if (!is_plain_picture(file, gray_)) return false;
  const auto placed = [&](std::span<const int64_t> sides) {
    std::vector<size_t> shape(sides.begin(), sides.end());
    if (gray_) shape.erase(planes_ ? shape.begin() : shape.end() - 1);
    return place(shape);
  };
  if (!floats_) return decoder_->decode_placed(file, {}, scratch, placed).ok();
  Result<DynamicRow> row = decoder_->decode_dynamic(file, {}, scratch);
  if (!row.ok()) return false;
  auto* values = reinterpret_cast<float*>(placed(row->shape));
  if (values == nullptr) return false;
  for (const std::byte value : row->bytes) *values++ = unit_range()[static_cast<uint8_t>(value)];
  return true;
}

}  // namespace headrace
