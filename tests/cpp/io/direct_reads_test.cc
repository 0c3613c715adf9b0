// Reads past the page cache have the same bytes as others, wherever they begin and end.
#include "io/direct_reads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <random>
#include <vector>

#include "headrace/notes.h"
#include "headrace/store.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

constexpr uint64_t kBlock = 4096;

std::string random_bytes(size_t size) {
  std::mt19937_64 random(7);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

/// Any place in memory, aligned one time of two.
class Memory {
 public:
  Memory(size_t size, size_t shift)
      : bytes_(size + 2 * kBlock), begin_(kBlock - address() % kBlock + shift), size_(size) {}
  MutableBytes bytes() { return MutableBytes(bytes_).subspan(begin_, size_); }

 private:
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(bytes_.data()); }

  std::vector<std::byte> bytes_;
  const size_t begin_;
  const size_t size_;
};

TEST(DirectReads, AnyRangeHasTheBytesOfTheFile) {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  for (const size_t size : {1, 511, 4096, 131072, 131073, 3000001}) {
    const std::string bytes = random_bytes(size);
    const std::string path = folder / std::to_string(size);
    write_file(path, bytes);
    const File file = open_file(AT_FDCWD, path.c_str(), O_RDONLY);
    const auto reads = DirectReads::begin(file);
    ASSERT_TRUE(reads) << "the file system of " << path << " has no direct reads";
    ASSERT_NE(::fcntl(file.get(), F_GETFL) & O_DIRECT, 0);
    for (int i = 0; i < 100; ++i) {
      size_t offset = random() % size;
      if (i % 4 == 1) offset = offset / kBlock * kBlock;
      Memory memory(random() % (i % 2 == 0 ? 5000 : size + 5000),
                    i % 3 == 0 ? 0 : random() % kBlock);
      const MutableBytes into = memory.bytes();
      const std::string expected = bytes.substr(offset, into.size());
      ASSERT_EQ(reads->read(file.get(), into, offset), static_cast<ssize_t>(expected.size()));
      ASSERT_EQ(as_text(into.first(expected.size())), expected) << size << " from " << offset;
    }
    Memory behind(10, 0);
    EXPECT_EQ(reads->read(file.get(), behind.bytes(), size), 0);
  }
}

TEST(DirectReads, AFileThatIsReplacedIsNotTakenForTheOneBefore) {
  const TemporaryFolder folder;
  for (const char letter : {'a', 'b'}) {
    write_file(folder / "file", std::string(1000, letter));
    const File file = open_file(AT_FDCWD, (folder / "file").c_str(), O_RDONLY);
    const auto reads = DirectReads::begin(file);
    ASSERT_TRUE(reads);
    std::string bytes(1000, ' ');
    ASSERT_EQ(reads->read(file.get(), as_writable_bytes(bytes), 0), 1000);
    EXPECT_EQ(bytes, std::string(1000, letter));
  }
}

class DirectStore : public testing::Test {
 protected:
  DirectStore() { ::setenv("HEADRACE_DIRECT", "1", 1); }
  ~DirectStore() override { ::unsetenv("HEADRACE_DIRECT"); }
};

TEST_F(DirectStore, ReadsThatAreNotWaitedForComeFromThreads) {
  const TemporaryFolder folder;
  const std::string bytes = random_bytes(1 << 20);
  write_file(folder / "file", bytes);
  const auto source = *open_url(folder / "file");
  EXPECT_TRUE(source->is_remote());  // many at once are wanted
  std::vector<std::string> parts(64, std::string(bytes.size() / 64, ' '));
  std::vector<std::promise<Status>> answers(parts.size());
  for (size_t i = 0; i < parts.size(); ++i)
    source->start_read(i * parts[i].size(), as_writable_bytes(parts[i]), kNow,
                       [&answer = answers[i]](Status status) { answer.set_value(status); });
  for (size_t i = 0; i < parts.size(); ++i) {
    ASSERT_TRUE(answers[i].get_future().get().ok());
    EXPECT_EQ(parts[i], bytes.substr(i * parts[i].size(), parts[i].size()));
  }
  std::string behind(10, ' ');
  const Status status = source->read_at(bytes.size() - 5, as_writable_bytes(behind));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kCorrupt);
  EXPECT_EQ(status.error().origin.offset, bytes.size());
}

TEST_F(DirectStore, WhereItIsRefusedFilesAreReadAsAlways) {
  const std::string path = "/proc/self/cmdline";  // no file system of procfs has direct reads
  take_notes();
  const File file = open_file(AT_FDCWD, path.c_str(), O_RDONLY);
  EXPECT_FALSE(DirectReads::begin(file));
  EXPECT_FALSE(DirectReads::begin(file));
  char byte = 0;
  EXPECT_EQ(::pread(file.get(), &byte, 1, 0), 1);
  const auto notes = take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("HEADRACE_DIRECT"), std::string::npos);
}

}  // namespace
}  // namespace headrace
