// Pictures decoded ahead: each equals the one that is decoded alone, whoever asks and whenever the
// threads end. ThreadSanitizer looks on; under Python it cannot, because the interpreter's own
// synchronisation is not instrumented.
#include "stream/picture_threads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace headrace {
namespace {

std::vector<std::string> pictures() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TEST_DATA)) {
    const std::string ending = entry.path().extension();
    if (ending != ".jpg" && ending != ".png" && ending != ".webp") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (files.size() == 24) break;
  }
  return files;
}

bool equal(const PictureJob& a, const PictureJob& b) {
  if (!a.decoded || !b.decoded) return a.decoded == b.decoded;
  const std::byte* pixels = a.rows->at(a.index);
  return a.rows->shape() == b.rows->shape() && a.rows->floats() == b.rows->floats() &&
         std::equal(pixels, pixels + a.rows->row_bytes(), b.rows->at(b.index));
}

class PictureThreadsTest : public testing::TestWithParam<int> {
 protected:
  const std::vector<std::string> files_ = pictures();
  const PlainPictures pictures_ = std::move(*PlainPictures::make("rgb", true, true));
};

TEST_P(PictureThreadsTest, EachIsTheOneDecodedAlone) {
  ASSERT_GE(files_.size(), 5U);
  Scratch scratch;
  PictureThreads threads(pictures_, GetParam());
  size_t decoded = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<PictureJob>> jobs;
    for (const std::string& file : files_) {
      jobs.push_back(std::make_unique<PictureJob>(PictureJob{as_bytes(file)}));
      threads.ask(*jobs.back());
    }
    for (size_t i = 0; i < jobs.size(); ++i) {
      threads.wait(*jobs[i]);
      PictureJob alone{as_bytes(files_[i])};
      alone.decode(pictures_, scratch);
      EXPECT_TRUE(equal(*jobs[i], alone));
      decoded += jobs[i]->decoded;
    }
  }
  EXPECT_GE(decoded, 9U);
}

TEST_P(PictureThreadsTest, MayEndWhilePicturesWait) {
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<PictureJob>> jobs;
    PictureThreads threads(pictures_, GetParam());
    for (const std::string& file : files_) {
      jobs.push_back(std::make_unique<PictureJob>(PictureJob{as_bytes(file)}));
      threads.ask(*jobs.back());
    }
    threads.wait(*jobs.front());
  }
}

/// Asked for rows of one batch, pictures of its shape lie in them, others each in a row of its own.
TEST_P(PictureThreadsTest, FillsTheRowsOfABatch) {
  for (const bool floats : {false, true}) {
    const PlainPictures pictures = std::move(*PlainPictures::make("rgb", floats, false));
    const auto rows = std::make_shared<PictureRows>(files_.size() * 4, floats);
    std::vector<std::unique_ptr<PictureJob>> jobs;
    {
      PictureThreads threads(pictures, GetParam());
      for (size_t i = 0; i < files_.size() * 4; ++i) {
        const ByteView file = as_bytes(files_[i % files_.size()]);
        jobs.push_back(std::make_unique<PictureJob>(PictureJob{file, rows, i}));
        threads.ask(*jobs.back());
      }
      for (const auto& job : jobs) threads.wait(*job);
    }
    Scratch scratch;
    size_t in_batch = 0;
    for (size_t i = 0; i < jobs.size(); ++i) {
      PictureJob alone{jobs[i]->file};
      alone.decode(pictures, scratch);
      EXPECT_TRUE(equal(*jobs[i], alone));
      if (!alone.decoded) continue;
      const bool fits = alone.rows->shape() == rows->shape();
      EXPECT_EQ(jobs[i]->rows == rows, fits);
      EXPECT_EQ(jobs[i]->index, fits ? i : 0);
      in_batch += fits;
    }
    EXPECT_GE(in_batch, 4U);
    EXPECT_LT(in_batch, jobs.size());
  }
}

TEST(PictureRows, TheFirstShapeIsThatOfAll) {
  PictureRows rows(3, true);
  std::byte* first = rows.row(1, {2, 5, 3});
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(rows.row_bytes(), 120U);
  EXPECT_EQ(rows.row(2, {2, 5, 3}), first + 120);
  EXPECT_EQ(rows.row(0, {5, 2, 3}), nullptr);
  EXPECT_EQ(rows.row(0, {2, 5, 3}), first - 120);
}

TEST(PictureRows, AreNotThereWhereMemoryIsNot) {
  PictureRows overflowing(size_t{1} << 40, false);
  EXPECT_EQ(overflowing.row(0, {size_t{1} << 30}), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Threads, PictureThreadsTest, testing::Values(1, 2, 4));

}  // namespace
}  // namespace headrace
