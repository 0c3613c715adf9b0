#include "codec/bmp.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "base/little_endian.h"
#include "base/try.h"

namespace headrace {
namespace {

constexpr size_t kFileHeader = 14;
constexpr uint32_t kCoreHeader = 12;  // OS/2 1
constexpr uint32_t kInfoHeader = 40;  // Windows 3; later ones are longer and begin alike
constexpr uint32_t kAlphaHeader = 56;

enum Compression : uint32_t { kNone = 0, kRuns8 = 1, kRuns4 = 2, kBitFields = 3, kAlphaFields = 6 };

Error damaged(const std::string& words) { return picture_error("BMP", words); }

uint32_t u16(ByteView file, size_t at) { return load_le<uint16_t>(file.data() + at); }
uint32_t u32(ByteView file, size_t at) { return load_le<uint32_t>(file.data() + at); }

/// Bytes of a stored line: pixels, and what fills the last four bytes up.
size_t line_bytes(int width, int bits) {
  return (static_cast<size_t>(width) * static_cast<size_t>(bits) + 31) / 32 * 4;
}

}  // namespace

Status BmpReader::read_masks(size_t at, uint32_t compression) {
  const bool listed = compression == kBitFields || compression == kAlphaFields;
  const uint32_t header = u32(file_, kFileHeader);
  std::array<uint32_t, 4> bits{0x00FF0000, 0x0000FF00, 0x000000FF, 0};
  if (bits_ == 16) bits = {0x7C00, 0x03E0, 0x001F, 0};
  if (listed) {
    const bool alpha = header >= kAlphaHeader || compression == kAlphaFields;
    const size_t count = alpha ? 4 : 3;
    if (file_.size() < at + 4 * count) return damaged("its header is cut");
    for (size_t c = 0; c < count; ++c) bits[c] = u32(file_, at + 4 * c);
  }
  for (size_t c = 0; c < 4; ++c) {
    masks_[c] = {};
    if (bits[c] == 0) continue;
    masks_[c].shift = std::countr_zero(bits[c]);
    masks_[c].most = bits[c] >> masks_[c].shift;
  }
  return Status();
}

Status BmpReader::read_palette(size_t at, size_t entry, uint32_t colors) {
  const size_t most = size_t{1} << bits_;
  const size_t count = colors == 0 ? most : std::min<size_t>(colors, most);
  palette_ = {};
  for (size_t i = 0; i < count; ++i) {
    const size_t from = at + i * entry;
    if (from + entry > std::min(data_, file_.size())) break;  // the rest is black
    const auto* bytes = reinterpret_cast<const uint8_t*>(file_.data() + from);
    palette_[i] = {bytes[2], bytes[1], bytes[0]};
  }
  return Status();
}

Status BmpReader::read_header() {
  if (file_.size() < kFileHeader + kCoreHeader) return damaged("its header is cut");
  data_ = u32(file_, 10);
  const uint32_t header = u32(file_, kFileHeader);
  if ((header != kCoreHeader && header < 16) || file_.size() - kFileHeader < header)
    return damaged("its header is cut or of an unknown kind");
  uint32_t compression = kNone, colors = 0;
  int64_t width = 0, height = 0;
  if (header == kCoreHeader) {
    width = u16(file_, kFileHeader + 4);
    height = u16(file_, kFileHeader + 6);
    bits_ = static_cast<int>(u16(file_, kFileHeader + 10));
  } else {
    width = static_cast<int32_t>(u32(file_, kFileHeader + 4));
    height = static_cast<int32_t>(u32(file_, kFileHeader + 8));
    bits_ = static_cast<int>(u16(file_, kFileHeader + 14));
    if (header >= 20) compression = u32(file_, kFileHeader + 16);
    if (header >= 36) colors = u32(file_, kFileHeader + 32);
  }
  from_top_ = height < 0;
  height = std::abs(height);
  if (width < 1 || height < 1 || height > std::numeric_limits<int>::max())
    return damaged("its header gives no size");
  if (bits_ != 1 && bits_ != 4 && bits_ != 8 && bits_ != 16 && bits_ != 24 && bits_ != 32)
    return damaged(std::to_string(bits_) + " bits a pixel are not supported");
  runs_ = (compression == kRuns8 && bits_ == 8) || (compression == kRuns4 && bits_ == 4);
  const bool fields =
      (compression == kBitFields || compression == kAlphaFields) && (bits_ == 16 || bits_ == 32);
  if (compression != kNone && !runs_ && !fields)
    return damaged("its compression " + std::to_string(compression) + " is not supported");
  header_.width = static_cast<int>(width);
  header_.height = static_cast<int>(height);
  const size_t behind = kFileHeader + header;
  if (bits_ <= 8) return read_palette(behind, header == kCoreHeader ? 3 : 4, colors);
  return read_masks(kFileHeader + kInfoHeader, compression);
}

Result<PictureHeader> BmpReader::open(ByteView file, const PictureWish& wish) {
  file_ = file;
  header_ = {};
  masks_ = {};
  HR_CHECK(read_header());
  const bool has_alpha = bits_ >= 16 && masks_[3].most != 0;
  header_.channels =
      wish.channels == Channels::rgba || (wish.channels == Channels::unchanged && has_alpha) ? 4
                                                                                             : 3;
  const auto height = static_cast<size_t>(header_.height);
  const size_t line = line_bytes(header_.width, bits_);
  const size_t there = file.size() - std::min(data_, file.size());
  if (!runs_ && there / line < height) {
    // Some writers leave the last line's fill out.
    const size_t last = (static_cast<size_t>(header_.width) * static_cast<size_t>(bits_) + 7) / 8;
    if (there < line * (height - 1) + last || there / line + 1 < height)
      return picture_error("BMP", "the file ends too soon: " + std::to_string(there) +
                                      " bytes of pixels are there, " +
                                      std::to_string(line * height) + " announced");
  }
  return header_;
}

/// Run lengths to one byte a pixel, lines from the bottom; what they skip is 0.
Result<ByteView> BmpReader::unpack_runs(ReusedBuffer& into) const {
  const auto width = static_cast<size_t>(header_.width);
  const auto height = static_cast<size_t>(header_.height);
  const MutableBytes pixels = into.take(width * height);
  std::memset(pixels.data(), 0, pixels.size());
  const ByteView data = file_.subspan(std::min(data_, file_.size()));
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(data[at]); };
  size_t x = 0, y = 0, at = 0;
  const auto put = [&](uint8_t index) {
    if (x < width && y < height) pixels[y * width + x] = std::byte{index};
    ++x;
  };
  const auto half = [&](uint8_t pair, size_t i) {
    return static_cast<uint8_t>(bits_ == 8 ? pair : i % 2 == 0 ? pair >> 4 : pair & 15);
  };
  while (y < height && data.size() - at >= 2) {
    const size_t count = byte(at);
    const uint8_t what = byte(at + 1);
    at += 2;
    if (count > 0) {
      for (size_t i = 0; i < count; ++i) put(half(what, i));
    } else if (what == 0) {  // the line ends
      x = 0;
      ++y;
    } else if (what == 1) {  // the picture ends
      return ByteView(pixels);
    } else if (what == 2) {  // to the right and up
      if (data.size() - at < 2) break;
      x += byte(at);
      y += byte(at + 1);
      at += 2;
    } else {  // so many pixels as they are, filled to two bytes
      const size_t bytes = bits_ == 8 ? what : (what + 1u) / 2;
      if (data.size() - at < bytes) break;
      for (size_t i = 0; i < what; ++i) put(half(byte(at + (bits_ == 8 ? i : i / 2)), i));
      at = std::min(data.size(), at + (bytes + 1) / 2 * 2);
    }
  }
  if (y < height && !(y + 1 == height && x >= width)) return damaged("the file ends too soon");
  return ByteView(pixels);
}

void BmpReader::write_pixel(const std::byte* line, int x, uint8_t* out) const {
  const auto at = static_cast<size_t>(x);
  if (bits_ <= 8) {
    const size_t per_byte = 8 / static_cast<size_t>(bits_);
    const auto shift = 8 - static_cast<size_t>(bits_) * (at % per_byte + 1);
    const auto index = static_cast<size_t>(line[at / per_byte]) >> shift & ((1u << bits_) - 1);
    std::copy_n(palette_[index].data(), 3, out);
  } else if (bits_ == 24) {
    const auto* bgr = reinterpret_cast<const uint8_t*>(line + 3 * at);
    std::reverse_copy(bgr, bgr + 3, out);
  } else {
    const uint32_t pixel =
        bits_ == 16 ? load_le<uint16_t>(line + 2 * at) : load_le<uint32_t>(line + 4 * at);
    for (size_t c = 0; c < 3; ++c) out[c] = masks_[c].of(pixel);
    if (header_.channels == 4 && masks_[3].most != 0) out[3] = masks_[3].of(pixel);
  }
}

Result<Picture> BmpReader::read(const Box& box, int, ReusedBuffer& into) {
  ByteView data = file_.subspan(std::min(data_, file_.size()));
  size_t line_size = line_bytes(header_.width, bits_);
  ReusedBuffer unpacked;
  const int stored_bits = bits_;
  if (runs_) {
    HR_TRY(data, unpack_runs(unpacked));
    line_size = static_cast<size_t>(header_.width);
    bits_ = 8;
  }
  const auto channels = static_cast<size_t>(header_.channels);
  const size_t stride = static_cast<size_t>(box.width) * channels;
  uint8_t* pixels = into.take_pixels(stride * static_cast<size_t>(box.height));
  uint8_t* out = pixels;
  for (int y = box.top; y < box.top + box.height; ++y) {
    const auto stored = static_cast<size_t>(from_top_ ? y : header_.height - 1 - y);
    const std::byte* line = data.data() + stored * line_size;
    for (int x = box.left; x < box.left + box.width; ++x, out += channels) {
      if (channels == 4) out[3] = 255;
      write_pixel(line, x, out);
    }
  }
  bits_ = stored_bits;
  return Picture{pixels, box.width, box.height, header_.channels, stride};
}

}  // namespace headrace
