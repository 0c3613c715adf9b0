// Pictures by real encoders against what Pillow makes of them (golden.json beside the files).
#include <algorithm>
#include <map>
#include <set>

#include "base/digest.h"
#include "codec/support.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

/// Files that Pillow decodes and we refuse: each is damaged, or of a kind that is refused by
/// design.
const std::set<std::string> kRefusedByChoice = {
    "jpeg/arithmetic_0.jpg",
    "jpeg/arithmetic_1.jpg",
    "jpeg/arithmetic_2.jpg",
    "jpeg/lossless_8.jpg",
    "png/bad_crc_idat.png",
    "png/chunk_unknown_critical.png",
    "png/cut_idat_last_bytes.png",
    "png/cut_no_iend.png",
    "png/cut_last_byte.png",
    "png/header_taller.png",
    // Numbers that are no unsigned integers of 1 to 16 bits: there is no one way to show them.
    "tiff/float32.tif",
    "tiff/float32_deflate_predictor3.tif",
    "tiff/int16.tif",
    "tiff/uint32.tif",
    "pnm/pf_gray.pfm",
    "pnm/pf_big_endian.pfm",
    "pnm/pf_rgb.pfm",
    // Colours that need a profile.
    "tiff/pillow_lab.tif",
};

/// Damaged outside of the pixels: these must decode all the same.
const std::set<std::string> kHarmlessDamage = {"jpeg/exif_cut.jpg", "jpeg/junk_between_markers.jpg",
                                               "jpeg/segment_length_zero.jpg"};

/// Refused by Pillow for the sake of metadata, which we never read.
const std::set<std::string> kAcceptedByChoice = {"png/chunk_ztxt_bomb.png"};

const std::set<std::string> kPictureFolders = {"jpeg", "png", "webp", "gif",
                                               "tiff", "bmp", "pnm",  "avif"};

/// Decoders that are not Pillow's own code or version: libtiff's colour models and other releases
/// of libavif. The sampled pixels must be this close.
const std::map<std::string, int> kTolerance = {
    {"tiff/pillow_cmyk.tif", 1}, {"tiff/pillow_ycbcr.tif", 2},   {"tiff/jpeg.tif", 2},
    {"tiff/pillow_jpeg.tif", 2}, {"avif/q60.avif", 2},           {"avif/444.avif", 2},
    {"avif/ten_bit.avif", 2},    {"avif/gray.avif", 2},          {"avif/alpha.avif", 2},
    {"avif/rotated.avif", 2},    {"avif/limited_range.avif", 2}, {"avif/pillow.avif", 2},
    {"avif/lossless.avif", 1},
};

ImageSpec stored(Channels channels, bool upright = false) {
  ImageSpec spec;
  spec.channels = channels;
  spec.layout = Layout::hwc;
  spec.upright = upright;
  return spec;
}

Result<OwnedRow> decode_as(const ImageSpec& spec, const std::string& file) {
  return decode(*decoder_of(spec), file);
}

void expect_close(const Json& expected, const OwnedRow& row, int tolerance) {
  const auto channels = static_cast<size_t>(row.shape[2]);
  for (const Json& sample : expected["samples"]) {
    const auto at =
        static_cast<size_t>(sample[0].get<int64_t>() * row.shape[1] + sample[1].get<int64_t>()) *
        channels;
    for (size_t c = 0; c < channels; ++c) {
      const Json& value = sample[2].is_array() ? sample[2][c] : sample[2];
      EXPECT_NEAR(static_cast<uint8_t>(row.bytes[at + c]), value.get<int>(), tolerance);
    }
  }
}

void expect_pixels(const Json& expected, const ImageSpec& spec, const std::string& file,
                   int tolerance = 0) {
  const auto row = decode_as(spec, file);
  ASSERT_TRUE(row.ok()) << row.error().to_string();
  auto shape = expected["shape"].get<std::vector<int64_t>>();
  if (shape.size() == 2) shape.push_back(1);
  EXPECT_EQ(row->shape, shape);
  if (tolerance > 0) return expect_close(expected, *row, tolerance);
  EXPECT_EQ(sha256_hex(as_bytes(row->bytes)), expected["sha256"].get<std::string>());
}

/// Modes whose stored form is not ours are compared by their sampled pixels.
void expect_samples(const Json& expected, int shift, int scale, const std::string& file) {
  const auto row = decode_as(stored(Channels::gray), file);
  ASSERT_TRUE(row.ok()) << row.error().to_string();
  const int64_t width = row->shape[1];
  for (const Json& sample : expected["samples"]) {
    const int64_t at = sample[0].get<int64_t>() * width + sample[1].get<int64_t>();
    const Json& value = sample[2].is_array() ? sample[2][0] : sample[2];
    EXPECT_EQ(static_cast<uint8_t>(row->bytes[static_cast<size_t>(at)]),
              (value.get<int>() * scale) >> shift);
  }
}

/// The RGBA of Pillow, or, where that strays from the PNG standard, of a reader that keeps to it.
/// That reader clears the colours of transparent pixels of 16-bit pictures.
void expect_alpha(const Json& entry, const std::string& file, int tolerance) {
  if (!entry.contains("decoded_rgba_spec") || entry["decoded"]["mode"] == "RGBA") {
    if (entry.contains("decoded_rgba"))
      expect_pixels(entry["decoded_rgba"], stored(Channels::rgba), file, tolerance);
    return;
  }
  auto row = decode_as(stored(Channels::rgba), file);
  ASSERT_TRUE(row.ok()) << row.error().to_string();
  if (entry["file"].get<std::string>().find("_16_") != std::string::npos) {
    for (size_t i = 0; i < row->bytes.size(); i += 4)
      if (row->bytes[i + 3] == 0) row->bytes.replace(i, 3, 3, '\0');
  }
  EXPECT_EQ(sha256_hex(as_bytes(row->bytes)), entry["decoded_rgba_spec"]["sha256"]);
}

void expect_decoded(const Json& entry, const std::string& file) {
  const Json& decoded = entry["decoded"];
  const auto close = kTolerance.find(entry["file"].get<std::string>());
  const int tolerance = close == kTolerance.end() ? 0 : close->second;
  const std::string mode = decoded["mode"];
  if (entry["kind"] == "tiff" && mode == "RGB")  // which Pillow turns upright by itself
    return expect_pixels(decoded, stored(Channels::rgb, true), file, tolerance);
  if (mode == "RGB") expect_pixels(decoded, stored(Channels::rgb), file, tolerance);
  if (mode == "L") expect_pixels(decoded, stored(Channels::gray), file, tolerance);
  if (mode == "LA") expect_pixels(decoded, stored(Channels::unchanged), file);
  if (mode == "RGBA") expect_pixels(decoded, stored(Channels::rgba), file, tolerance);
  if (mode == "I;16" || mode == "I;16B" || (mode == "I" && entry["kind"] == "pnm"))
    expect_samples(decoded, 8, 1, file);
  if (mode == "1") expect_samples(decoded, 0, 255, file);
  if (entry.contains("decoded_rgb"))
    expect_pixels(entry["decoded_rgb"], stored(Channels::rgb), file, tolerance);
  expect_alpha(entry, file, tolerance);
  if (entry.contains("decoded_oriented"))
    expect_pixels(entry["decoded_oriented"], stored(Channels::rgb, true), file, tolerance);
}

void expect_refused(const std::string& file) {
  const auto row = decode_as(stored(Channels::rgb), file);
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.error().code, Code::kCorrupt);
  EXPECT_FALSE(row.error().message.empty());
}

TEST(GoldenImages, DecodeToThePixelsThatPillowGivesOrAreRefused) {
  int seen = 0;
  for (const Json& entry : golden_entries()) {
    const std::string kind = entry["kind"];
    if (!kPictureFolders.contains(kind)) continue;
    const std::string name = entry["file"];
    SCOPED_TRACE(name);
    const std::string file = read_file(golden_folder() + "/" + name);
    const std::string expect = entry["expect"];
    ++seen;
    const bool good = expect == "ok" || kHarmlessDamage.contains(name);
    if (kAcceptedByChoice.contains(name)) {
      EXPECT_TRUE(decode_as(stored(Channels::rgb), file).ok());
    } else if (good && !kRefusedByChoice.contains(name)) {
      expect_decoded(entry, file);
    } else {
      expect_refused(file);
    }
  }
  EXPECT_GE(seen, 319);
}

TEST(GoldenImages, FormatsThatAreNotReadAreRefusedByName) {
  const std::map<std::string, std::string> names = {
      {"qoi", "QOI"}, {"hdr", "Radiance HDR"}, {"exr", "OpenEXR"},       {"heif", "HEIF"},
      {"svg", "SVG"}, {"jxl", "JPEG XL"},      {"jpeg2000", "JPEG 2000"}};
  std::set<std::string> seen;
  for (const Json& entry : golden_entries()) {
    const auto format = names.find(entry["kind"].get<std::string>());
    if (format == names.end()) continue;
    const std::string name = entry["file"];
    SCOPED_TRACE(name);
    const auto row = decode_as(stored(Channels::rgb), read_file(golden_folder() + "/" + name));
    ASSERT_FALSE(row.ok());
    EXPECT_EQ(row.error().code, Code::kCorrupt);
    EXPECT_EQ(row.error().message,
              "a picture in the format " + format->second + ", which is not read");
    EXPECT_NE(row.error().hint.find("JPEG, PNG, WebP"), std::string::npos);
    seen.insert(format->first);
  }
  EXPECT_EQ(seen.size(), names.size());
}

TEST(GoldenImages, CutAtAnyByteAreAnErrorOrTheWholePicture) {
  for (const char* name :
       {"jpeg/size_7x5_2x2.jpg", "jpeg/restart_progressive.jpg", "png/gray_2_interlaced_trns.png",
        "webp/size_5x7.webp", "gif/two_colours.gif", "bmp/rle8.bmp", "pnm/p5.pgm"}) {
    SCOPED_TRACE(name);
    const std::string file = read_file(golden_folder() + "/" + name);
    const auto decoder = decoder_of(stored(Channels::rgb));
    const auto whole = decode(*decoder, file);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    for (size_t size = 0; size < file.size(); ++size) {
      const auto cut = decode(*decoder, std::string_view(file).substr(0, size));
      EXPECT_TRUE(!cut.ok() || cut->bytes == whole->bytes) << "cut to " << size;
    }
  }
}

TEST(GoldenImages, AnErrorSaysWhereAndWhat) {
  const auto error_of = [](const std::string& name) {
    const auto row = decode_as(stored(Channels::rgb), read_file(golden_folder() + "/" + name));
    return row.ok() ? std::string("decoded") : row.error().message;
  };
  EXPECT_EQ(error_of("jpeg/cut_scan_half.jpg"),
            "damaged JPEG: the file ends too soon, at byte 3051 of the field");
  EXPECT_EQ(error_of("jpeg/html_named.jpg").find("no picture of a known kind: its first bytes"),
            0u);
  EXPECT_NE(error_of("jpeg/arithmetic_0.jpg").find("arithmetic coding is not supported"),
            std::string::npos);
  EXPECT_EQ(error_of("pnm/p7_rgba.pam"), "a picture in the format PAM, which is not read");
  EXPECT_NE(error_of("png/bad_crc_idat.png").find("CRC"), std::string::npos);
  EXPECT_NE(error_of("png/bomb_50000.png").find("pixels"), std::string::npos);
  EXPECT_NE(error_of("webp/cut_half.webp").find("it is cut"), std::string::npos);
}

}  // namespace
}  // namespace headrace
