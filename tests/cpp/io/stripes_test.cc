// Stripes of Lustre: the bytes that ask for them, and that nothing is asked anywhere else.
#include "io/stripes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "headrace/notes.h"
#include "headrace/store.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

class Stripes : public testing::Test {
 protected:
  ~Stripes() override {
    ::unsetenv("HEADRACE_STRIPE_COUNT");
    ::unsetenv("HEADRACE_STRIPE_SIZE");
  }
  static Result<StripeLayout> with(const char* count, const char* size) {
    ::setenv("HEADRACE_STRIPE_COUNT", count, 1);
    ::setenv("HEADRACE_STRIPE_SIZE", size, 1);
    return stripe_layout();
  }
};

TEST_F(Stripes, AreWhatTheEnvironmentSays) {
  EXPECT_TRUE(stripe_layout()->is_default());
  EXPECT_EQ(*with("4", "1MiB"), (StripeLayout{.count = 4, .bytes = 1 << 20}));
  EXPECT_EQ(*with("-1", ""), (StripeLayout{.count = -1, .bytes = std::nullopt}));
  for (const char* count : {"0", "-2", "2001", "four", "4 ", "99999999999"}) {
    const auto wrong = with(count, "");
    ASSERT_FALSE(wrong.ok()) << count;
    EXPECT_EQ(wrong.error().code, Code::kUsage);
    EXPECT_NE(wrong.error().message.find("HEADRACE_STRIPE_COUNT"), std::string::npos);
  }
  for (const char* size : {"0", "1000", "100KiB", "4GiB", "much"}) {
    const auto wrong = with("", size);
    ASSERT_FALSE(wrong.ok()) << size;
    EXPECT_NE(wrong.error().message.find("HEADRACE_STRIPE_SIZE"), std::string::npos);
  }
}

TEST_F(Stripes, AreAskedForWithTheseBytes) {
  const std::string expected(
      "\xD0\x0B\xD1\x0B"                  // magic of version 1
      "\x01\x00\x00\x00"                  // pattern: RAID 0
      "\x00\x00\x00\x00\x00\x00\x00\x00"  // object
      "\x00\x00\x00\x00\x00\x00\x00\x00"  // its sequence
      "\x00\x00\x40\x00"                  // 4 MiB a stripe
      "\x08\x00"                          // over 8 servers
      "\xFF\xFF",                         // from any of them on
      32);
  EXPECT_EQ(encode_layout({.count = 8, .bytes = 4 << 20}), expected);
  const std::string all = encode_layout({.count = -1, .bytes = std::nullopt});
  EXPECT_EQ(all.substr(24), std::string("\0\0\0\0\xFF\xFF\xFF\xFF", 8));
}

TEST_F(Stripes, AreAskedForOnLustreAlone) {
  const TemporaryFolder folder;
  const StripeLayout layout{.count = 2, .bytes = 1 << 20};
  take_notes();
  EXPECT_NE(file_system_type(folder.path()), kLustre);
  EXPECT_TRUE(create_file(folder / "here", layout, file_system_type(folder.path())).is_open());
  EXPECT_TRUE(create_file(folder / "default", {}, kLustre).is_open());
  EXPECT_TRUE(take_notes().empty());

  // What is no Lustre refuses the attribute, which is said, and the file is there all the same.
  const File file = create_file(folder / "there", layout, kLustre);
  ASSERT_TRUE(file.is_open());
  EXPECT_TRUE(write_fully(file.get(), as_bytes("text"), "there").ok());
  const auto notes = take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("HEADRACE_STRIPE_COUNT"), std::string::npos);
  struct stat plain {
  }, striped{};
  ASSERT_EQ(::stat((folder / "here").c_str(), &plain), 0);
  ASSERT_EQ(::stat((folder / "there").c_str(), &striped), 0);
  EXPECT_EQ(plain.st_mode, striped.st_mode);

  for (const int64_t type : {file_system_type(folder.path()), kLustre}) {
    EXPECT_FALSE(create_file(folder / "here", layout, type).is_open());
    EXPECT_EQ(errno, EEXIST);
  }
}

TEST_F(Stripes, AValueThatIsNoneIsAnErrorOfWriting) {
  const TemporaryFolder folder;
  static_cast<void>(with("many", ""));
  const auto sink = (*open_store(folder.path()))->create("object");
  ASSERT_FALSE(sink.ok());
  EXPECT_EQ(sink.error().code, Code::kUsage);
}

}  // namespace
}  // namespace headrace
