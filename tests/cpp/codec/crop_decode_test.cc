// A box that is decoded alone has the very bytes of the same box of the whole picture.
#include <algorithm>
#include <filesystem>

#include "base/counter_rng.h"
#include "codec/jpeg.h"
#include "codec/picture_readers.h"
#include "codec/support.h"

namespace headrace {
namespace {

/// One file, read as often as wanted.
class Pixels {
 public:
  Pixels(std::string file, PictureWish wish) : file_(std::move(file)), wish_(wish) {
    const auto kind = sniff_picture(as_bytes(file_));
    EXPECT_TRUE(kind.ok());
    reader_ = &readers_.of(*kind);
    const auto header = reader_->open(as_bytes(file_), wish_);
    EXPECT_TRUE(header.ok()) << header.error().to_string();
    size_ = {header->height, header->width};
  }

  Size size() const { return size_; }
  Box whole() const { return {0, 0, size_.height, size_.width}; }

  /// Empty after an error.
  std::string of(const Box& box, int shrink = 1) {
    EXPECT_TRUE(reader_->open(as_bytes(file_), wish_).ok());
    const auto picture = reader_->read(box, shrink, buffer_);
    if (!picture.ok()) {
      ADD_FAILURE() << picture.error().to_string();
      return {};
    }
    read_ = {picture->height, picture->width};
    channels_ = picture->channels;
    std::string bytes;
    for (int y = 0; y < picture->height; ++y)
      bytes.append(reinterpret_cast<const char*>(picture->line(y)),
                   static_cast<size_t>(picture->width * picture->channels));
    return bytes;
  }

  /// Of the last read.
  Size read_size() const { return read_; }

  std::string cut(const std::string& whole, Size size, const Box& box) const {
    std::string bytes;
    for (int y = box.top; y < box.top + box.height; ++y)
      bytes += whole.substr(static_cast<size_t>((y * size.width + box.left) * channels_),
                            static_cast<size_t>(box.width * channels_));
    return bytes;
  }

 private:
  std::string file_;
  PictureWish wish_;
  PictureReaders readers_;
  PictureReader* reader_ = nullptr;
  ReusedBuffer buffer_;
  Size size_, read_;
  int channels_ = 0;
};

void expect_boxes_equal(Pixels& pixels, const std::vector<Box>& boxes, int shrink) {
  const std::string whole = pixels.of(pixels.whole(), shrink);
  const Size size = pixels.read_size();
  for (const Box& box : boxes) {
    const std::string part = pixels.of(box, shrink);
    const Box scaled = divided(box, shrink);
    ASSERT_EQ(pixels.read_size(), scaled.size());
    ASSERT_EQ(part == pixels.cut(whole, size, scaled), true)
        << "box at " << box.top << ", " << box.left << " of " << box.height << " x " << box.width
        << ", 1/" << shrink;
  }
}

std::vector<Box> random_boxes(Size size, int count) {
  CounterRng random(1, 2, 3, 4);
  const auto below = [&](int end) {
    return static_cast<int>(random.below(static_cast<uint64_t>(end)));
  };
  std::vector<Box> boxes;
  for (int i = 0; i < count; ++i) {
    Box box;
    box.height = 1 + below(size.height);
    box.width = 1 + below(size.width);
    box.top = below(size.height - box.height + 1);
    box.left = below(size.width - box.width + 1);
    boxes.push_back(box);
  }
  return boxes;
}

/// Every left and right edge, every top and bottom edge.
std::vector<Box> all_edges(Size size) {
  std::vector<Box> boxes;
  for (int left = 0; left < size.width; ++left)
    for (int right = left + 1; right <= size.width; right += 1 + (right - left) / 4)
      boxes.push_back({left % size.height, left, 1, right - left});
  for (int top = 0; top < size.height; ++top)
    for (int bottom = top + 1; bottom <= size.height; bottom += 1 + (bottom - top) / 4)
      boxes.push_back({top, 0, bottom - top, 1 + top % size.width});
  return boxes;
}

std::vector<std::string> golden_files_of(const std::string& kind) {
  std::vector<std::string> names;
  for (const nlohmann::json& entry : golden_entries()) {
    if (entry["kind"] != kind || entry["expect"] != "ok") continue;
    const std::string name = entry["file"];
    const std::string file = read_file(golden_folder() + "/" + name);
    PictureReaders readers;
    const auto of = sniff_picture(as_bytes(file));
    if (!of.ok()) continue;
    PictureReader& reader = readers.of(*of);
    const auto header = reader.open(as_bytes(file), {});
    ReusedBuffer buffer;
    if (!header.ok() || header->width * header->height > 40000) continue;
    if (reader.read({0, 0, header->height, header->width}, 1, buffer).ok()) names.push_back(name);
  }
  return names;
}

void expect_crops(const std::string& kind, PictureWish wish, int least_files) {
  const auto names = golden_files_of(kind);
  EXPECT_GE(static_cast<int>(names.size()), least_files);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Pixels pixels(read_file(golden_folder() + "/" + name), wish);
    expect_boxes_equal(pixels, random_boxes(pixels.size(), 60), 1);
    if (pixels.size().height * pixels.size().width < 2500)
      expect_boxes_equal(pixels, all_edges(pixels.size()), 1);
  }
}

TEST(CropDecode, OfEveryKindOfJpegEqualsTheWholePictureCut) {
  expect_crops("jpeg", {Channels::rgb, false}, 20);
  expect_crops("jpeg", {Channels::gray, false}, 20);
}

TEST(CropDecode, OfEveryKindOfWebpEqualsTheWholePictureCut) {
  expect_crops("webp", {Channels::rgb, false}, 5);
  expect_crops("webp", {Channels::rgba, false}, 5);
}

TEST(CropDecode, OfPngEqualsTheWholePictureCut) {
  expect_crops("png", {Channels::unchanged, false}, 20);
}

TEST(CropDecode, WithTheFastSettingsEqualsTheWholePictureCut) {
  expect_crops("jpeg", {Channels::rgb, true}, 20);
  expect_crops("webp", {Channels::rgb, true}, 5);
}

TEST(CropDecode, AtAFractionOfTheSizeEqualsTheWholePictureCut) {
  for (const char* name : {"baseline_420", "baseline_444", "baseline_440", "progressive_420"}) {
    SCOPED_TRACE(name);
    Pixels pixels(read_file(golden_folder() + "/jpeg/" + name + ".jpg"), {Channels::rgb, true});
    for (const int shrink : {2, 4, 8})
      expect_boxes_equal(pixels, random_boxes(pixels.size(), 60), shrink);
  }
}

/// The largest difference between two pictures.
int difference(const std::string& a, const std::string& b) {
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<uint8_t>(a[i]) - static_cast<uint8_t>(b[i])));
  return largest;
}

TEST(CropDecode, WithTheFastSettingsStaysCloseToTheExactPicture) {
  const std::string file = read_file(golden_folder() + "/jpeg/baseline_444.jpg");
  Pixels exact(file, {Channels::rgb, false});
  Pixels fast(file, {Channels::rgb, true});
  const int apart = difference(exact.of(exact.whole()), fast.of(fast.whole()));
  EXPECT_GT(apart, 0);
  EXPECT_LE(apart, 8);
}

TEST(CropDecode, OfACutJpegIsAnErrorAlsoAboveTheCut) {
  const std::string file = read_file(golden_folder() + "/jpeg/cut_scan_90pc.jpg");
  JpegReader reader;
  ReusedBuffer buffer;
  ASSERT_TRUE(reader.open(as_bytes(file), {}).ok());
  const auto picture = reader.read({0, 0, 8, 8}, 1, buffer);
  ASSERT_FALSE(picture.ok());
  EXPECT_NE(picture.error().message.find("its end is missing"), std::string::npos);
}

TEST(CropDecode, KeepsNothingOfTheFileBefore) {
  // This file has no quantisation table; the one before it has.
  const std::string before = read_file(golden_folder() + "/jpeg/baseline_444.jpg");
  const std::string file = read_file(golden_folder() + "/jpeg/missing_dqt.jpg");
  JpegReader reader;
  ReusedBuffer buffer;
  ASSERT_TRUE(reader.open(as_bytes(before), {}).ok());
  ASSERT_TRUE(reader.read({0, 0, 8, 8}, 1, buffer).ok());
  const auto header = reader.open(as_bytes(file), {});
  EXPECT_FALSE(header.ok() && reader.read({0, 0, 8, 8}, 1, buffer).ok());
}

}  // namespace
}  // namespace headrace
