#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "io/file_list.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> paths(const FileList& files) {
  std::vector<std::string> out;
  for (size_t i = 0; i < files.size(); ++i) out.emplace_back(files.path(i));
  return out;
}

TEST(Walk, FindsFilesInTheOrderOfTheirBytes) {
  TemporaryFolder folder;
  for (const char* name : {"b.txt", "a/x.txt", "a-b.txt", "a.txt", "z/\xff\xfe.bin", "z/\xc3\xa4"})
    write_file(folder / name, "12345");
  WalkNotes notes;
  const auto files = walk(folder.path(), {.threads = 3}, &notes);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(paths(*files), (std::vector<std::string>{"a-b.txt", "a.txt", "a/x.txt", "b.txt",
                                                     "z/\xc3\xa4", "z/\xff\xfe.bin"}));
  for (size_t i = 0; i < files->size(); ++i) {
    EXPECT_EQ((*files)[i].bytes, 5U);
    EXPECT_GT((*files)[i].mtime_ns, 0);
  }
}

TEST(Walk, FollowsLinksButNotInCircles) {
  TemporaryFolder folder;
  write_file(folder / "real/x.txt", "x");
  write_file(folder / "outside.txt", "x");
  fs::create_directory_symlink(folder / "real", folder / "linked");
  fs::create_directory_symlink("..", folder / "real/up");
  fs::create_symlink(folder / "outside.txt", folder / "real/y.txt");
  fs::create_symlink("nowhere", folder / "dangling.txt");
  WalkNotes notes;
  const auto files = walk(folder.path(), {}, &notes);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(paths(*files), (std::vector<std::string>{"linked/x.txt", "linked/y.txt", "outside.txt",
                                                     "real/x.txt", "real/y.txt"}));
  EXPECT_EQ(notes.loops, 2U);
  ASSERT_EQ(notes.unreadable.size(), 1U);
  EXPECT_NE(notes.unreadable[0].message.find("dangling.txt"), std::string::npos);
}

TEST(Walk, LeavesOutHiddenAndSpecialFilesAndTheFolderToSkip) {
  TemporaryFolder folder;
  write_file(folder / "a.txt", "x");
  write_file(folder / ".hidden/b.txt", "x");
  write_file(folder / "out/c.txt", "x");
  ::mkfifo((folder / "pipe").c_str(), 0600);
  WalkNotes notes;
  const auto files = walk(folder.path(), {.skip = folder / "out"}, &notes);
  EXPECT_EQ(paths(*files), (std::vector<std::string>{"a.txt"}));
  EXPECT_EQ(notes.hidden, 1U);
  EXPECT_EQ(notes.special, 1U);
  WalkNotes all;
  EXPECT_EQ(walk(folder.path(), {.hidden = true}, &all)->size(), 3U);
}

TEST(Walk, AMissingFolderIsNotFound) {
  WalkNotes notes;
  EXPECT_EQ(walk("/does/not/exist", {}, &notes).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headrace
