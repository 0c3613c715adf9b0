// However the data of a PNG is cut into chunks, its pixels are the same; what is irregular is left
// to libpng.
#include "codec/png_image_data.h"

#include <libdeflate.h>

#include "base/big_endian.h"
#include "codec/png.h"
#include "codec/support.h"

namespace headrace {
namespace {

constexpr size_t kBeforeChunks = 8;

std::string number(uint32_t value) {
  std::string bytes(4, '\0');
  store_be32(reinterpret_cast<std::byte*>(bytes.data()), value);
  return bytes;
}

std::string chunk(const std::string& name, std::string_view content) {
  const std::string checked = name + std::string(content);
  return number(static_cast<uint32_t>(content.size())) + checked +
         number(libdeflate_crc32(0, checked.data(), checked.size()));
}

struct Parts {
  std::string before, data, after;  // the chunks around the image data, and its content
};

Parts parts_of(const std::string& file) {
  Parts parts{.before = file.substr(0, kBeforeChunks), .data = {}, .after = {}};
  for (size_t at = kBeforeChunks; at < file.size();) {
    const size_t size = load_be32(as_bytes(file).data() + at);
    if (file.substr(at + 4, 4) == "IDAT")
      parts.data += file.substr(at + 8, size);
    else
      (parts.data.empty() ? parts.before : parts.after) += file.substr(at, size + 12);
    at += size + 12;
  }
  return parts;
}

std::string in_pieces(const Parts& parts, size_t size) {
  std::string file = parts.before;
  for (size_t at = 0; at < parts.data.size(); at += size)
    file += chunk("IDAT", std::string_view(parts.data).substr(at, size));
  return file + parts.after;
}

std::string pixels(const std::string& file) {
  PngReader reader;
  ReusedBuffer memory;
  const auto header = reader.open(as_bytes(file), {Channels::unchanged, false});
  if (!header.ok()) return header.error().to_string();
  const auto picture = reader.read({0, 0, header->height, header->width}, 1, memory);
  if (!picture.ok()) return picture.error().to_string();
  std::string bytes;
  for (int y = 0; y < picture->height; ++y)
    bytes.append(reinterpret_cast<const char*>(picture->line(y)),
                 static_cast<size_t>(picture->width * picture->channels));
  return bytes;
}

// src_a is the golden photograph, of so many bytes a line and lines.
constexpr auto kPhotograph = "/transforms/src_a.png";

size_t raw_bytes(const std::string& file) {
  const std::byte* header = as_bytes(file).data() + kBeforeChunks + 8;
  return size_t{load_be32(header + 4)} * (1 + 3 * size_t{load_be32(header)});
}

bool is_inflated(const std::string& file, size_t raw) {
  PngImageData data;
  const size_t at = file.find("IDAT") + 4;
  return !data.stored(as_bytes(file), at, raw).empty();
}

TEST(PngImageData, PixelsDoNotDependOnHowTheDataIsCut) {
  for (const char* name : {kPhotograph, "/png/palette_1.png", "/png/gray_16_interlaced.png",
                           "/png/gray_alpha_8_interlaced.png", "/png/filter_4.png"}) {
    const std::string file = read_file(golden_folder() + name);
    const Parts parts = parts_of(file);
    const std::string whole = pixels(file);
    ASSERT_FALSE(whole.empty()) << name;
    for (const size_t size : {1, 7, 100, 8192, 1 << 20})
      EXPECT_EQ(pixels(in_pieces(parts, size)) == whole, true) << name << ", " << size;
    Parts with_empty_chunks = parts;
    with_empty_chunks.before += chunk("IDAT", "");
    EXPECT_EQ(pixels(in_pieces(with_empty_chunks, 50)) == whole, true) << name;
  }
}

TEST(PngImageData, WhatIsIrregularIsLeftToLibpng) {
  const std::string file = read_file(golden_folder() + kPhotograph);
  const Parts parts = parts_of(file);
  const size_t raw = raw_bytes(file);
  EXPECT_TRUE(is_inflated(file, raw));
  EXPECT_TRUE(is_inflated(
      parts.before + chunk("IDAT", parts.data) + chunk("tEXt", "a\0b") + chunk("IEND", ""), raw));

  EXPECT_FALSE(is_inflated(file, raw - 1));
  EXPECT_FALSE(is_inflated(file, raw + 1));
  EXPECT_FALSE(is_inflated(file, 0));
  EXPECT_FALSE(is_inflated(file, PngImageData::kLargest + 1));
  const auto is_taken = [&](const std::string& chunks) {
    return is_inflated(parts.before + chunks, raw);
  };
  const std::string data = chunk("IDAT", parts.data), end = chunk("IEND", "");
  EXPECT_TRUE(is_taken(data + end));
  EXPECT_FALSE(is_taken(data));
  EXPECT_FALSE(is_taken(data + end.substr(0, 11)));
  EXPECT_FALSE(is_taken(data + chunk("IEND", "a")));
  EXPECT_FALSE(is_taken(chunk("IDAT", parts.data + "x") + end));
  EXPECT_FALSE(is_taken(chunk("IDAT", parts.data.substr(1)) + end));
  EXPECT_FALSE(is_taken(data + chunk("ABcd", "") + end));
  EXPECT_FALSE(is_taken(chunk("IDAT", parts.data.substr(0, 9)) + chunk("tEXt", "a\0b") +
                        chunk("IDAT", parts.data.substr(9)) + end));
  for (const size_t at : {size_t{0}, size_t{9}, data.size() - 1, data.size() + 9}) {
    std::string damaged = data + end;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    EXPECT_FALSE(is_taken(damaged)) << at;
  }
}

}  // namespace
}  // namespace headrace
