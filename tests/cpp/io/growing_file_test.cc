#include "io/growing_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "temporary_folder.h"

namespace headrace {
namespace {

uint64_t allocated_bytes(const GrowingFile& file) {
  struct stat info {};
  EXPECT_EQ(::fstat(file.file().get(), &info), 0);
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

std::string text(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

TEST(GrowingFile, HoldsWhatWasWrittenAndNoMore) {
  const TemporaryFolder folder;
  const std::string all = text(5'000'003);
  GrowingFile file(open_file(AT_FDCWD, (folder / "f").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600),
                   "f");
  for (size_t at = 0; at < all.size(); at += 70'001)
    ASSERT_TRUE(file.append(as_bytes(std::string_view(all).substr(at, 70'001))).ok());
  EXPECT_EQ(file.size(), all.size());
  file.trim();
  EXPECT_EQ(std::filesystem::file_size(folder / "f"), all.size());
  ASSERT_EQ(::fsync(file.file().get()), 0);
  EXPECT_LT(allocated_bytes(file), all.size() + (size_t{128} << 10));
  std::string read(all.size(), '\0');
  EXPECT_EQ(read_fully(file.file().get(), as_writable_bytes(read), 0),
            static_cast<ssize_t>(all.size()));
  EXPECT_EQ(read, all);
}

TEST(GrowingFile, SmallFilesAllocateNothingAhead) {
  const TemporaryFolder folder;
  GrowingFile file(open_file(AT_FDCWD, (folder / "f").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600),
                   "f");
  ASSERT_TRUE(file.append(as_bytes(text(100'000))).ok());
  ASSERT_EQ(::fsync(file.file().get()), 0);
  EXPECT_LT(allocated_bytes(file), 200'000U);
}

// Nothing can be allocated in a pipe.
TEST(GrowingFile, WritesOnWhereNothingCanBeAllocated) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  GrowingFile file(File(ends[1]), "pipe");
  const std::string all = text(3 << 20);
  std::jthread writer([&] {
    EXPECT_TRUE(file.append(as_bytes(all)).ok());
    file.trim();
  });
  const File reader(ends[0]);  // closed before the writer is waited for
  std::string read(all.size(), '\0');
  size_t got = 0;
  while (got < read.size()) {
    const ssize_t more = ::read(reader.get(), read.data() + got, read.size() - got);
    ASSERT_GT(more, 0);
    got += static_cast<size_t>(more);
  }
  EXPECT_EQ(read, all);
}

TEST(GrowingFile, AFullDiskIsAnErrorOfTheWrite) {
  GrowingFile file(open_file(AT_FDCWD, "/dev/full", O_WRONLY), "/dev/full");
  const Status status = file.append(as_bytes(text(2 << 20)));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("/dev/full"), std::string::npos);
}

}  // namespace
}  // namespace headrace
