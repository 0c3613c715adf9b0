// Every promise of a Store, kept by buckets on real servers.
#include "io/bucket/live_bucket.h"

#include <thread>

namespace headrace {
namespace {

TEST_F(LiveBucket, AwkwardKeys) {
  const std::vector<std::string> keys{"a b/c  d.tar",    "year=2024/month=08/part.tar",
                                      "a+b+c.jpg",       "100%.txt",
                                      "per%20cent.tar",  "äöü/日本語/😀.jpg",
                                      "~tilde_.dot",     "quotes'and(brackets)[x]",
                                      "at@colon:semi;,", "amper&sand=equals#hash",
                                      "stars*!$dollar",  "less<more>"};
  for (const std::string& key : keys) {
    SCOPED_TRACE(key);
    const auto done = put(*store_, key, as_bytes(key));
    ASSERT_TRUE(done.ok()) << done.error().to_string();
    EXPECT_TRUE(*store_->exists(key));
    EXPECT_EQ(*store_->read(key), key);
  }
  auto expected = keys;
  std::sort(expected.begin(), expected.end());
  std::vector<std::string> listed;
  const auto entries = store_->list("");
  for (const StoreEntry& entry : *entries) listed.push_back(entry.path);
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(store_->list("a b")->size(), 1U);
  for (const std::string& key : keys) ASSERT_TRUE(store_->remove(key).ok()) << key;
  EXPECT_TRUE(store_->list("")->empty());
}

TEST_F(LiveBucket, LargeObjectsGoInPartsAndComeInParts) {
  const std::string bytes = noise((size_t{37} << 20) + 12345, 1);
  const auto sink = store_->create("large.tar");
  for (size_t at = 0; at < bytes.size(); at += 1000001)
    ASSERT_EQ(said((*sink)->append(as_bytes(std::string_view(bytes).substr(at, 1000001)))), "");
  EXPECT_FALSE(*store_->exists("large.tar"));
  const auto done = (*sink)->commit();
  ASSERT_TRUE(done.ok()) << done.error().to_string();
  const auto source = store_->open("large.tar");
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  ASSERT_EQ((*source)->size(), bytes.size());
  std::string into(bytes.size() - 77, '\0');
  const auto read = (*source)->read_at(77, as_writable_bytes(into));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_TRUE(into == bytes.substr(77));
  EXPECT_TRUE(*store_->read("large.tar") == bytes);
}

TEST_F(LiveBucket, AnObjectOfExactlyTwoParts) {
  const std::string bytes = noise(size_t{16} << 20, 2);
  ASSERT_EQ(said(put(*store_, "even", as_bytes(bytes))), "");
  EXPECT_TRUE(*store_->read("even") == bytes);
  ASSERT_EQ(said(put(*store_, "empty", {})), "");
  EXPECT_EQ((*store_->open("empty"))->size(), 0U);
  EXPECT_EQ(*store_->read("empty"), "");
}

TEST_F(LiveBucket, WhatIsGivenUpLeavesNothing) {
  {
    const auto sink = store_->create("given-up");
    ASSERT_EQ(said((*sink)->append(as_bytes(noise(size_t{20} << 20, 3)))), "");
  }
  EXPECT_FALSE(*store_->exists("given-up"));
  EXPECT_TRUE(store_->list("")->empty());
}

TEST_F(LiveBucket, LargeObjectsArePutIfAbsentToo) {
  const std::string first = noise(size_t{17} << 20, 4);
  EXPECT_TRUE(*put_if_absent(*store_, "x", as_bytes(first)));
  EXPECT_FALSE(*put_if_absent(*store_, "x", as_bytes(noise(size_t{17} << 20, 5))));
  EXPECT_TRUE(*store_->read("x") == first);
}

TEST_F(LiveBucket, ListingsOfManyPages) {
  constexpr int kFolders = 7;
  constexpr int kObjects = 300;
  {
    std::vector<std::jthread> threads;
    for (int folder = 0; folder < kFolders; ++folder)
      threads.emplace_back([&, folder] {
        for (int i = 0; i < kObjects; ++i)
          ASSERT_EQ(said(put(*store_, std::to_string(folder) + "/" + std::to_string(i), {})), "");
      });
  }
  ASSERT_EQ(said(put(*store_, "beside", as_bytes("x"))), "");
  const auto all = store_->list("");
  ASSERT_TRUE(all.ok()) << all.error().to_string();
  EXPECT_EQ(all->size(), size_t{kFolders} * kObjects + 1);
  EXPECT_TRUE(std::is_sorted(all->begin(), all->end(),
                             [](const auto& a, const auto& b) { return a.path < b.path; }));
  EXPECT_EQ(store_->list("3")->size(), size_t{kObjects});
}

TEST_F(LiveBucket, AnObjectThatIsReplacedWhileItIsReadIsAnError) {
  ASSERT_EQ(said(put(*store_, "x", as_bytes("first"))), "");
  const auto source = store_->open("x");
  std::string into(2, ' ');
  ASSERT_TRUE((*source)->read_at(0, as_writable_bytes(into)).ok());
  ASSERT_EQ(said(put(*store_, "x", as_bytes("other"))), "");
  EXPECT_EQ((*source)->read_at(2, as_writable_bytes(into)).error().code, Code::kChanged);
}

TEST_F(LiveBucket, WritersWhoRaceForANameMakeOneObject) {
  if (!store_->creates_atomically()) GTEST_SKIP() << "the server knows no condition";
  std::atomic<int> won = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&, i] {
        const auto mine = open();
        const auto first = put_if_absent(*mine, "one", as_bytes(std::to_string(i)));
        ASSERT_TRUE(first.ok()) << first.error().to_string();
        won += *first ? 1 : 0;
      });
  }
  EXPECT_EQ(won, 1);
}

}  // namespace
}  // namespace headrace
