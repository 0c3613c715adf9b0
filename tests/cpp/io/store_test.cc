#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "io/local_store.h"
#include "io/memory_store.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

// Every store behaves the same.
class AnyStore : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string kind = GetParam();
    if (kind == "local")
      store_ = std::make_shared<LocalStore>(folder_ / "not/there/yet", Durability::kDurable);
    else if (kind == "memory")
      store_ = std::make_shared<MemoryStore>("mem:x");
    else
      open_remote();
  }
  // A folder of its own of the location that HEADRACE_TEST_STORE names: the Python tests start real
  // servers and run these tests against them.
  void open_remote() {
    const char* location = std::getenv("HEADRACE_TEST_STORE");
    if (location == nullptr) GTEST_SKIP() << "HEADRACE_TEST_STORE names no location";
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = test->name();
    auto store = open_store(std::string(location) + "/" + name.substr(0, name.find('/')));
    ASSERT_TRUE(store.ok()) << store.error().to_string();
    store_ = *store;
  }
  TemporaryFolder folder_;
  std::shared_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Stores, AnyStore, ::testing::Values("local", "memory", "remote"));

TEST_P(AnyStore, GivesBackWhatWasPut) {
  ASSERT_TRUE(put(*store_, "a/b.bin", as_bytes("hello")).ok());
  EXPECT_EQ(*store_->read("a/b.bin"), "hello");
  EXPECT_TRUE(*store_->exists("a/b.bin"));
  ASSERT_TRUE(put(*store_, "a/b.bin", as_bytes("bye")).ok());
  EXPECT_EQ(*store_->read("a/b.bin"), "bye");
  EXPECT_TRUE(store_->sync().ok());
}

TEST_P(AnyStore, PutIfAbsentLeavesWhatIsThere) {
  EXPECT_TRUE(*put_if_absent(*store_, "x", as_bytes("one")));
  EXPECT_FALSE(*put_if_absent(*store_, "x", as_bytes("two")));
  EXPECT_EQ(*store_->read("x"), "one");
}

TEST_P(AnyStore, ListsByBytesOfThePath) {
  for (const char* path : {"b", "a/z", "a-", "a/b/c", "a.tar"})
    ASSERT_TRUE(put(*store_, path, as_bytes(path)).ok());
  std::vector<std::string> paths;
  const auto entries = store_->list("");
  for (const StoreEntry& entry : *entries) {
    paths.push_back(entry.path);
    EXPECT_EQ(entry.bytes, entry.path.size());
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"a-", "a.tar", "a/b/c", "a/z", "b"}));
  ASSERT_EQ(store_->list("a")->size(), 2U);
  EXPECT_EQ((*store_->list("a"))[0].path, "a/b/c");
  EXPECT_TRUE(store_->list("nothing")->empty());
}

TEST_P(AnyStore, MissingObjectsAreNotFound) {
  EXPECT_EQ(store_->open("nothing").error().code, Code::kNotFound);
  EXPECT_FALSE(*store_->exists("nothing"));
  EXPECT_TRUE(store_->remove("nothing").ok());
}

TEST_P(AnyStore, ReadingPastTheEndIsAnError) {
  ASSERT_TRUE(put(*store_, "x", as_bytes("12345")).ok());
  const auto source = store_->open("x");
  std::string into(4, ' ');
  EXPECT_TRUE((*source)->read_at(1, as_writable_bytes(into)).ok());
  EXPECT_EQ(into, "2345");
  EXPECT_EQ((*source)->read_at(2, as_writable_bytes(into)).error().code, Code::kCorrupt);
  EXPECT_EQ((*source)->read_at(~uint64_t{0} / 4, as_writable_bytes(into)).error().code,
            Code::kCorrupt);
}

TEST_P(AnyStore, WhatIsNotCommittedIsNotThere) {
  {
    const auto sink = store_->create("x.tar");
    ASSERT_TRUE((*sink)->append(as_bytes("half")).ok());
    EXPECT_FALSE(*store_->exists("x.tar"));
  }
  EXPECT_TRUE(store_->list("")->empty());
}

TEST(LocalStore, TemporariesNeverLookLikeShardsAndDeadOnesAreSwept) {
  TemporaryFolder folder;
  LocalStore store(folder.path(), Durability::kFast);
  const auto sink = store.create("x.tar");
  write_file(folder / ".headrace-0123456789abcdef.part", "left by a killed writer");
  for (const auto& entry : fs::directory_iterator(folder.path()))
    EXPECT_NE(entry.path().extension(), ".tar");
  LocalStore other(folder.path(), Durability::kFast);
  const auto second = other.create("y.tar");
  EXPECT_FALSE(fs::exists(folder / ".headrace-0123456789abcdef.part"));
  ASSERT_TRUE((*sink)->commit().ok()) << "the living writer's temporary was taken away";
  EXPECT_TRUE(fs::exists(folder / "x.tar"));
}

TEST(LocalStore, NamesThatLeaveTheFolderAreRefused) {
  TemporaryFolder folder;
  LocalStore store(folder.path(), Durability::kFast);
  EXPECT_EQ(store.create("../x").error().code, Code::kUsage);
  EXPECT_EQ(store.open("/etc/passwd").error().code, Code::kUsage);
}

TEST(LocalStore, ForbiddenFilesAreDenied) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may do everything";
  TemporaryFolder folder;
  LocalStore store(folder.path(), Durability::kFast);
  ASSERT_TRUE(put(store, "x", as_bytes("x")).ok());
  ::chmod((folder / "x").c_str(), 0);
  EXPECT_EQ(store.open("x").error().code, Code::kDenied);
  ::chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(store.create("y").error().code, Code::kDenied);
  ::chmod(folder.path().c_str(), 0755);
}

TEST(LocalStore, AFolderGoesWithItsLastObjectAndComesAgain) {
  TemporaryFolder folder;
  LocalStore store(folder.path(), Durability::kDurable);
  ASSERT_TRUE(put(store, "a/b/c", as_bytes("x")).ok());
  ASSERT_TRUE(store.remove("a/b/c").ok());
  EXPECT_FALSE(fs::exists(folder / "a"));
  EXPECT_TRUE(fs::exists(folder.path()));
  EXPECT_TRUE(put(store, "a/b/c", as_bytes("x")).ok());
  EXPECT_TRUE(store.sync().ok());
}

TEST(LocalStore, ListsWhileOthersWriteAndRemove) {
  TemporaryFolder folder;
  LocalStore store(folder.path(), Durability::kFast);
  ASSERT_TRUE(put(store, "a/stays", as_bytes("x")).ok());
  std::jthread other([&](const std::stop_token& stop) {
    LocalStore theirs(folder.path(), Durability::kFast);
    while (!stop.stop_requested()) {
      static_cast<void>(put(theirs, "a/b/goes", as_bytes("y")));
      static_cast<void>(theirs.remove("a/b/goes"));
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const auto listed = store.list("");
    ASSERT_TRUE(listed.ok()) << listed.error().to_string();
    ASSERT_EQ(listed->back().path, "a/stays");
  }
}

TEST(OpenStore, UnknownSchemesAreRefusedAndMemoryIsShared) {
  EXPECT_EQ(open_store("gopher://bucket/x").error().code, Code::kUsage);
  ASSERT_TRUE(put(**open_store("mem:shared"), "x", as_bytes("1")).ok());
  EXPECT_EQ(*(*open_store("mem:shared"))->read("x"), "1");
  TemporaryFolder folder;
  write_file(folder / "a b/x", "2");
  EXPECT_EQ(*(*open_store("file://" + folder.path() + "/a%20b"))->read("x"), "2");
}

}  // namespace
}  // namespace headrace
