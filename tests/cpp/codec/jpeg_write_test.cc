#include "codec/jpeg_write.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

/// Pixels as the file has them, not turned: rows of interleaved channels.
Result<OwnedRow> pixels(std::string_view file) {
  ImageSpec spec;
  spec.channels = Channels::unchanged;
  spec.layout = Layout::hwc;
  spec.upright = false;
  static const auto decoder = decoder_of(spec);
  return decode(*decoder, file);
}

std::string jpeg(const std::string& name) { return read_file(golden_folder() + "/jpeg/" + name); }

std::string baseline_of(const std::string& file, JpegMetadata metadata) {
  std::string out;
  const auto done = jpeg_to_baseline(as_bytes(file), metadata, out);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().to_string());
  EXPECT_TRUE(done.ok() && *done);
  return out;
}

JpegFacts facts_of(const std::string& file) { return read_jpeg_facts(as_bytes(file)).value(); }

/// Quantisers of 16 bits, as of the lowest qualities: the format allows them in no baseline file.
bool has_wide_quantisers(const std::string& file) {
  for (size_t at = file.find("\xFF\xDB"); at != std::string::npos && at + 4 < file.size();
       at = file.find("\xFF\xDB", at + 2))
    if (file[at + 4] >> 4 == 1) return true;
  return false;
}

TEST(JpegToBaseline, KeepsEveryPixelOfEveryFileThatDecodes) {
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(golden_folder() + "/jpeg")) {
    const std::string file = read_file(entry.path().string());
    const auto before = pixels(file);
    if (!before.ok() || !file.starts_with("\xFF\xD8\xFF")) continue;
    for (const auto metadata : {JpegMetadata::kKeep, JpegMetadata::kStrip}) {
      std::string out;
      const auto done = jpeg_to_baseline(as_bytes(file), metadata, out);
      ASSERT_TRUE(done.ok()) << entry.path() << done.error().to_string();
      if (!*done) continue;
      const auto after = pixels(out);
      ASSERT_TRUE(after.ok()) << entry.path() << after.error().to_string();
      EXPECT_EQ(after->shape, before->shape) << entry.path();
      EXPECT_EQ(after->bytes, before->bytes) << entry.path();
      EXPECT_EQ(facts_of(out).baseline, !has_wide_quantisers(out)) << entry.path();
      ++seen;
    }
  }
  EXPECT_GT(seen, 60);
}

TEST(JpegToBaseline, SaysWhatIsProgressive) {
  EXPECT_TRUE(facts_of(jpeg("baseline_420.jpg")).baseline);
  EXPECT_FALSE(facts_of(jpeg("progressive_420.jpg")).baseline);
  EXPECT_TRUE(facts_of(baseline_of(jpeg("progressive_420.jpg"), JpegMetadata::kKeep)).baseline);
}

TEST(JpegToBaseline, KeepsMetadataOrLeavesOnlyTheOrientation) {
  const std::string file = jpeg("exif_orientation_6.jpg");
  const std::string kept = baseline_of(file, JpegMetadata::kKeep);
  const std::string stripped = baseline_of(file, JpegMetadata::kStrip);
  EXPECT_EQ(facts_of(kept).orientation, 6);
  EXPECT_EQ(facts_of(stripped).orientation, 6);

  const std::string profile = jpeg("icc_srgb.jpg");
  EXPECT_NE(baseline_of(profile, JpegMetadata::kKeep).find("ICC_PROFILE"), std::string::npos);
  EXPECT_EQ(baseline_of(profile, JpegMetadata::kStrip).find("ICC_PROFILE"), std::string::npos);
  EXPECT_EQ(baseline_of(jpeg("baseline_420.jpg"), JpegMetadata::kStrip).find("Exif"),
            std::string::npos);
}

TEST(JpegToBaseline, DamagedFilesAreErrorsAndWriteNothing) {
  for (const char* name :
       {"corrupt_scan_2.jpg", "cut_scan_half.jpg", "cut_progressive_half.jpg",
        "bad_huffman_table.jpg", "bomb_progressive_65500.jpg", "header_says_65500x65500.jpg",
        "many_scans.jpg", "zero_length.jpg", "random_noise.jpg"}) {
    std::string out;
    const auto done = jpeg_to_baseline(as_bytes(jpeg(name)), JpegMetadata::kKeep, out);
    EXPECT_FALSE(done.ok()) << name;
    if (done.ok()) continue;
    EXPECT_EQ(done.error().code, Code::kCorrupt) << name;
    EXPECT_TRUE(out.empty()) << name;
  }
}

TEST(EncodeJpeg, ColoursAndGrayComeBackNearlyAsTheyWere) {
  for (const char* name : {"baseline_444.jpg", "baseline_gray.jpg"}) {
    const auto row = pixels(jpeg(name)).value();
    const auto channels = static_cast<size_t>(row.shape[2]);
    const Picture picture{.pixels = reinterpret_cast<const uint8_t*>(row.bytes.data()),
                          .width = static_cast<int>(row.shape[1]),
                          .height = static_cast<int>(row.shape[0]),
                          .channels = static_cast<int>(channels),
                          .stride = static_cast<size_t>(row.shape[1]) * channels};
    std::string low, high;
    ASSERT_TRUE(encode_jpeg(picture, 20, low).ok());
    ASSERT_TRUE(encode_jpeg(picture, 95, high).ok());
    EXPECT_LT(low.size(), high.size());
    const auto again = pixels(high).value();
    ASSERT_EQ(again.shape, row.shape);
    double difference = 0;
    for (size_t i = 0; i < row.bytes.size(); ++i)
      difference +=
          std::abs(static_cast<uint8_t>(row.bytes[i]) - static_cast<uint8_t>(again.bytes[i]));
    EXPECT_LT(difference / static_cast<double>(row.bytes.size()), 6) << name;
  }
}

}  // namespace
}  // namespace headrace
