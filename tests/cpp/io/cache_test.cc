// The node cache on real files, with real processes that fork, are killed, and fill disks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <random>
#include <thread>

#include "base/stop_scope.h"
#include "child_process.h"
#include "counting_server.h"
#include "io/cache/cached_source.h"
#include "io/cache/node_cache.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

TEST(NodeCache, ReadsFromTheStoreOnce) {
  const TemporaryFolder folder;
  CountingServer server(10 * kGranule + 77);
  {
    Reader reader(server, options(folder.path()));
    const auto source = reader.open();
    EXPECT_TRUE(source->is_remote());
    EXPECT_TRUE(reads_right(*source, 0, 5000, 9000));
    EXPECT_EQ(server.requests(), 1u) << "neighbours come in one request";
    EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
    EXPECT_FALSE(source->is_remote());
    EXPECT_EQ(server.most(), 1u);
    EXPECT_EQ(reader.cache->counters().fetched_bytes, server.bytes());
    std::vector<std::byte> beyond(100);
    EXPECT_EQ(source->read_at(server.bytes() - 99, beyond).error().code, Code::kCorrupt);
  }
  Reader again(server, options(folder.path()));
  const auto source = again.open();
  EXPECT_FALSE(source->is_remote());
  EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
  EXPECT_TRUE(reads_right(*source, 0, server.bytes() - 1, 1));
  EXPECT_EQ(server.total(), server.granules());
  EXPECT_EQ(again.cache->counters().trouble, "");
}

TEST(NodeCache, CutsLargeReadsIntoRequests) {
  const TemporaryFolder folder;
  CountingServer server(10 * kGranule);
  Reader reader(server, options(folder.path()));
  EXPECT_TRUE(reads_right(*reader.open(), 0, 0, server.bytes()));
  EXPECT_EQ(server.requests(), 3u);  // 4 + 4 + 2 granules
}

TEST(NodeCache, LeavesWhatItCannotTellApart) {
  const TemporaryFolder folder;
  CountingServer server(kGranule);
  Reader reader(server, options(folder.path()));
  class Nameless : public ServedObject {
   public:
    using ServedObject::ServedObject;
    std::string identity() const override { return ""; }
  };
  class Local : public ServedObject {
   public:
    using ServedObject::ServedObject;
    bool is_remote() const override { return false; }
  };
  const auto is_wrapped = [&](std::unique_ptr<ByteSource> source, const std::string& content = "") {
    const auto wrapped = reader.cache->wrap(std::move(source), reader.lease, content);
    return dynamic_cast<CachedSource*>(wrapped.get()) != nullptr;
  };
  EXPECT_FALSE(is_wrapped(std::make_unique<Nameless>(server, 0)));
  EXPECT_FALSE(is_wrapped(std::make_unique<Local>(server, 0)));
  EXPECT_TRUE(is_wrapped(std::make_unique<Nameless>(server, 0), "xxh3 0123"));
  EXPECT_TRUE(is_wrapped(std::make_unique<ServedObject>(server, 0)));
}

TEST(NodeCache, StartsReadsWithoutWaiting) {
  const TemporaryFolder folder;
  CountingServer server(64 * kGranule);
  server.delay = milliseconds(200);
  Reader reader(server, options(folder.path()));
  const auto source = reader.open();
  std::vector<std::byte> bytes(server.bytes());
  std::vector<std::promise<bool>> answers(16);
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < answers.size(); ++i)
    source->start_read(i * 4 * kGranule,
                       MutableBytes(bytes).subspan(i * 4 * kGranule, 4 * kGranule), i,
                       [&answers, i](const Status& status) { answers[i].set_value(status.ok()); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(150));
  for (auto& answer : answers) EXPECT_TRUE(answer.get_future().get());
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(1000)) << "one after the other";
  for (uint64_t i = 0; i < server.bytes(); ++i) ASSERT_EQ(bytes[i], byte_at(0, i));
}

TEST(NodeCache, ThreadsShareOneRequest) {
  const TemporaryFolder folder;
  CountingServer server(40 * kGranule);
  server.delay = milliseconds(5);
  Reader reader(server, options(folder.path()));
  const auto source = reader.open();
  const auto other = reader.open();  // a second file description in this process
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 100; ++i) {
        const uint64_t offset = random() % (server.bytes() - 9000);
        EXPECT_TRUE(reads_right(t % 2 == 0 ? *source : *other, 0, offset, random() % 9000));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.most(), 1u);
}

TEST(NodeCache, WhoLeavesDisturbsNobody) {
  const TemporaryFolder folder;
  CountingServer server(4 * kGranule);
  server.delay = milliseconds(1500);
  Reader reader(server, options(folder.path()));
  const auto source = reader.open();
  std::stop_source stop;
  auto left = std::async(std::launch::async, [&] {
    const StopScope scope(stop.get_token());
    std::vector<std::byte> bytes(server.bytes());
    return source->read_at(0, bytes);
  });
  auto stays =
      std::async(std::launch::async, [&] { return reads_right(*source, 0, 0, server.bytes()); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto begin = std::chrono::steady_clock::now();
  stop.request_stop();
  const Status status = left.get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(500));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kInterrupted);
  EXPECT_TRUE(stays.get());
  EXPECT_EQ(server.most(), 1u);
}

TEST(NodeCache, GivesTheStoresErrorsAndTriesAgainLater) {
  const TemporaryFolder folder;
  CountingServer server(4 * kGranule);
  Reader reader(server, options(folder.path()));
  const auto source = reader.open();
  server.failures = 1;
  std::vector<std::byte> bytes(server.bytes());
  const Status failed = source->read_at(0, bytes);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "the server is down");
  server.failures = 0;
  EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
}

TEST(NodeCache, EightProcessesFetchEachByteOnce) {
  const TemporaryFolder folder;
  CountingServer server(50 * kGranule + 1, 10);
  server.delay = milliseconds(2);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 8; ++i)
    children.push_back(
        in_child([&] { return read_everything(server, options(folder.path()), i); }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(server.most(), 1u);
  EXPECT_EQ(server.total(), server.granules() * server.objects());
}

TEST(NodeCache, KilledProcessesLoseOnlyWhatTheyWereFetching) {
  const TemporaryFolder folder;
  CountingServer server(50 * kGranule + 1, 20);
  server.delay = milliseconds(3);
  std::vector<pid_t> children;
  unsigned seed = 0;
  const auto start = [&] {
    ++seed;
    return in_child([&] { return read_everything(server, options(folder.path()), seed); });
  };
  for (unsigned i = 0; i < 8; ++i) children.push_back(start());
  std::mt19937 random(1);
  unsigned kills = 0;
  for (; kills < 25; ++kills) {
    std::this_thread::sleep_for(milliseconds(random() % 25));
    pid_t& child = children[random() % children.size()];
    ::kill(child, SIGKILL);
    wait_for(child);
    child = start();
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  const uint64_t all = server.granules() * server.objects();
  EXPECT_GE(server.total(), all);
  // One read at a time: what a killed process had under way is one request or two.
  EXPECT_LE(server.total(), all + uint64_t{kills} * 8);
  const uint64_t before = server.total();
  EXPECT_TRUE(read_everything(server, options(folder.path()), 1));
  EXPECT_EQ(server.total(), before);
}

TEST(NodeCache, KillingAllAtAnyPointLeavesNoDamage) {
  const TemporaryFolder folder;
  CountingServer server(200 * kGranule + 5);
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    std::vector<pid_t> children;
    for (unsigned i = 0; i < 3; ++i)
      children.push_back(in_child(
          [&] { return read_everything(server, options(folder.path()), 10 * round + i); }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) wait_for(child);
  }
  EXPECT_TRUE(read_everything(server, options(folder.path()), 0));  // counts no damage either
}

TEST(NodeCache, ChildrenAfterForkReadAndFetch) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a child of a process that has some";
#endif
  const TemporaryFolder folder;
  CountingServer server(30 * kGranule);
  server.delay = milliseconds(2);
  Reader reader(server, options(folder.path()));
  const auto source = reader.open();
  EXPECT_TRUE(reads_right(*source, 0, 0, 10 * kGranule));  // its threads are running now
  std::vector<pid_t> children;
  children.reserve(4);
  for (int i = 0; i < 4; ++i)
    children.push_back(in_child_with_threads_here([&] {
      const auto fresh = reader.open();
      return reads_right(*source, 0, 0, 20 * kGranule) &&
             reads_right(*fresh, 0, 15 * kGranule, 15 * kGranule);
    }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
  EXPECT_EQ(server.most(), 1u);
}

TEST(NodeCache, KilledHoldersGranuleIsTakenOverAtOnce) {
  const TemporaryFolder folder;
  CountingServer server(kGranule);
  server.delay = milliseconds(60000);
  const pid_t child = in_child([&] { return read_everything(server, options(folder.path()), 1); });
  std::this_thread::sleep_for(milliseconds(200));
  ::kill(child, SIGKILL);
  wait_for(child);
  server.delay = milliseconds(0);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(read_everything(server, options(folder.path()), 2));
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(1000));
}

TEST(NodeCache, NobodyWaitsForeverForWhoIsStopped) {
  const TemporaryFolder folder;
  CountingServer server(kGranule);
  server.delay = milliseconds(60000);
  const pid_t child = in_child([&] { return read_everything(server, options(folder.path()), 1); });
  std::this_thread::sleep_for(milliseconds(200));
  ::kill(child, SIGSTOP);
  server.delay = milliseconds(0);
  CacheOptions impatient = options(folder.path());
  impatient.patience = milliseconds(100);
  Reader reader(server, impatient);
  EXPECT_TRUE(reads_right(*reader.open(), 0, 0, server.bytes()));
  EXPECT_EQ(reader.cache->counters().streamed_bytes, server.bytes());
  ::kill(child, SIGKILL);
  wait_for(child);
}

void change_file(const std::string& path, uint64_t offset, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
            static_cast<ssize_t>(bytes.size()));
  ::close(file);
}

TEST(NodeCache, NoticesDamageAndFetchesAgain) {
  CountingServer server(20 * kGranule + 9);
  const EntryHeader header{.object_bytes = server.bytes(),
                           .granule_bytes = kGranule,
                           .name = std::string(kRoot) + "/object-0.tar"};
  const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> damages = {
      {"a bit of a granule",
       [&](auto& path) { change_file(path, header.data_offset() + 3 * kGranule + 5, "?"); }},
      {"the last byte", [&](auto& path) { change_file(path, header.file_bytes() - 1, "?"); }},
      {"a record", [&](auto& path) { change_file(path, header.records_offset() + 8, "12345678"); }},
      {"all records",
       [&](auto& path) { change_file(path, header.records_offset(), std::string(21 * 8, 'x')); }},
      {"the magic", [&](auto& path) { change_file(path, 0, "X"); }},
      {"the sizes", [&](auto& path) { change_file(path, 16, std::string(12, '\xff')); }},
      {"cut in the header", [&](auto& path) { std::filesystem::resize_file(path, 20); }},
      {"cut in the records",
       [&](auto& path) { std::filesystem::resize_file(path, header.records_offset() + 12); }},
      {"cut in the data",
       [&](auto& path) { std::filesystem::resize_file(path, header.data_offset() + 50000); }},
      {"empty", [&](auto& path) { std::filesystem::resize_file(path, 0); }},
      {"zeros at the end",
       [&](auto& path) { std::filesystem::resize_file(path, header.file_bytes() + 100); }},
  };
  for (const auto& [what, damage] : damages) {
    SCOPED_TRACE(what);
    const TemporaryFolder folder;
    ASSERT_TRUE(read_everything(server, options(folder.path()), 1));
    const std::string path = only_object_file(folder.path());
    damage(path);
    for (int i = 0; i < 2; ++i) {
      Reader reader(server, options(folder.path()));
      const auto source = reader.open();
      EXPECT_TRUE(reads_right(*source, 0, 70, 100));
      EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
      EXPECT_EQ(reader.cache->counters().streamed_bytes, 0u);
      if (i == 0) continue;
      EXPECT_EQ(reader.cache->counters().fetched_bytes, 0u) << "mended";
    }
  }
}

TEST(NodeCache, CutWhileOpenIsFetchedAgain) {
  const TemporaryFolder folder;
  CountingServer server(20 * kGranule);
  Reader reader(server, options(folder.path()));
  const auto source = reader.open();
  EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
  std::filesystem::resize_file(only_object_file(folder.path()), 5000);
  EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
  EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
}

TEST(NodeCache, FullDiskMeansStreaming) {
  const TemporaryFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "mounting is not allowed here";
  CountingServer server(100 * kGranule);
  {
    Reader reader(server, options(folder.path()));
    for (int epoch = 0; epoch < 3; ++epoch)
      EXPECT_TRUE(reads_right(*reader.open(), 0, 0, server.bytes()));
    const CacheCounters counters = reader.cache->counters();
    EXPECT_NE(counters.trouble, "");
    EXPECT_GT(counters.hit_bytes, 2 * 40 * kGranule) << "what did fit is used";
    EXPECT_GT(counters.streamed_bytes, 0u);
  }
  ::umount2(folder.path().c_str(), MNT_DETACH);
}

TEST(NodeCache, FileSizeLimitMeansStreaming) {
  const TemporaryFolder folder;
  CountingServer server(100 * kGranule);
  std::vector<pid_t> children;
  children.reserve(3);
  for (int i = 0; i < 3; ++i)
    children.push_back(
        in_child([&] { return read_with_small_files(server, options(folder.path())); }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
}

TEST(NodeCache, ReserveIsKeptFree) {
  const TemporaryFolder folder;
  CountingServer server(10 * kGranule);
  CacheOptions all = options(folder.path());
  all.limits.reserve = uint64_t{1} << 60;
  Reader reader(server, all);
  EXPECT_TRUE(reads_right(*reader.open(), 0, 0, server.bytes()));
  EXPECT_TRUE(reads_right(*reader.open(), 0, 0, server.bytes()));
  EXPECT_EQ(reader.cache->counters().hit_bytes, 0u);
  EXPECT_NE(reader.cache->counters().trouble, "");
}

TEST(NodeCache, UnusableFolderMeansStreaming) {
  const TemporaryFolder folder;
  write_file(folder / "file", "not a folder");
  CountingServer server(10 * kGranule);
  Reader reader(server, options(folder / "file/cache"));
  EXPECT_TRUE(reads_right(*reader.open(), 0, 0, server.bytes()));
  EXPECT_NE(reader.cache->counters().trouble, "");
}

class Eviction : public ::testing::Test {
 protected:
  static constexpr uint64_t kObject = 50 * kGranule;
  // Room for three objects of kObject bytes and not four.
  CacheOptions limited() {
    CacheOptions with = options(folder_.path());
    with.limits.bytes = 180 * kGranule;
    return with;
  }
  /// Reads `object` as a part of the data set `root`; answers the bytes that were not kept.
  uint64_t read(const std::string& root, uint64_t object) {
    const auto cache = NodeCache::open(limited());
    const auto lease = cache->lease(root);
    const auto source = cache->wrap(std::make_unique<ServedObject>(server_, object), lease);
    EXPECT_TRUE(reads_right(*source, object, 0, server_.bytes()));
    return cache->counters().streamed_bytes;
  }
  uint64_t fetches_of(uint64_t object) { return server_.count(object, 0); }

  TemporaryFolder folder_;
  CountingServer server_{kObject, 8};
};

TEST_F(Eviction, LeastRecentlyUsedDataSetGoesFirst) {
  EXPECT_EQ(read("a", 0), 0u);
  EXPECT_EQ(read("b", 1), 0u);
  EXPECT_EQ(read("c", 2), 0u);
  EXPECT_EQ(read("a", 0), 0u);
  EXPECT_EQ(read("d", 3), 0u);  // takes b's place
  EXPECT_EQ(read("a", 0), 0u);
  EXPECT_EQ(read("c", 2), 0u);
  EXPECT_EQ(fetches_of(0), 1u);
  EXPECT_EQ(fetches_of(2), 1u);
  EXPECT_EQ(read("b", 1), 0u);
  EXPECT_EQ(fetches_of(1), 2u);
}

TEST_F(Eviction, WhatIsReadFromStays) {
  const auto reader = NodeCache::open(limited());
  const auto lease = reader->lease("a");
  EXPECT_EQ(read("a", 0), 0u);
  EXPECT_EQ(read("a", 1), 0u);
  EXPECT_EQ(read("a", 2), 0u);
  EXPECT_GT(read("a", 3), 0u) << "does not take the place of what the same run reads again";
  EXPECT_GT(read("b", 4), 0u);
  EXPECT_EQ(read("a", 0) + read("a", 1) + read("a", 2), 0u);
  EXPECT_EQ(fetches_of(0) + fetches_of(1) + fetches_of(2), 3u);
}

TEST_F(Eviction, PinnedStays) {
  const auto held = CacheFolder::open(folder_.path(), {});
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE((*held)->pin("a", true).ok());
  EXPECT_EQ(read("a", 0) + read("a", 1) + read("a", 2), 0u);
  EXPECT_GT(read("b", 3), 0u);
  ASSERT_TRUE((*held)->pin("a", false).ok());
  EXPECT_EQ(read("b", 4), 0u);
}

TEST_F(Eviction, ClearLeavesWhatIsInUse) {
  EXPECT_EQ(read("a", 0) + read("b", 1), 0u);
  const auto folder = CacheFolder::open(folder_.path(), {});
  ASSERT_TRUE(folder.ok());
  auto lease = (*folder)->lease("b");
  ASSERT_TRUE(lease.ok());
  auto busy = (*folder)->clear("");
  ASSERT_TRUE(busy.ok());
  ASSERT_EQ(busy->size(), 1u);
  EXPECT_EQ(busy->front().root, "b");
  auto sets = (*folder)->sets();
  ASSERT_TRUE(sets.ok());
  ASSERT_EQ(sets->size(), 1u);
  EXPECT_EQ(sets->front().objects, 1u);
  EXPECT_GE(sets->front().bytes, kObject);
  lease = Error{};
  EXPECT_TRUE((*folder)->clear("b")->empty());
  EXPECT_TRUE((*folder)->sets()->empty());
}

}  // namespace
}  // namespace headrace
