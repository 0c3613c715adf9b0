// The node cache over a server without ranges: one process streams an object, and the others take
// it from the cache.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <mutex>

#include "child_process.h"
#include "counting_server.h"
#include "io/cache/cached_source.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

/// As HttpSource is: the first answer of a process shows that there are no ranges, and the first
/// read after it streams the object.
class StreamedObject : public ServedObject {
 public:
  StreamedObject(CountingServer& server, uint64_t object)
      : ServedObject(server, object), server_(server) {}

  bool is_spooled() const override { return refused_; }
  void start_range(uint64_t, MutableBytes, Deadline, const Done& done) const override {
    refused_ = true;
    done(Error{.code = Code::kUsage, .message = "no ranges"});
  }
  void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                  const Done& done) const override {
    refused_ = true;
    std::call_once(begun_, [this] {
      ++server_.streams();
      began_ = std::chrono::steady_clock::now();
    });
    const uint64_t granules = (offset + into.size() + kGranule - 1) / kGranule;
    const auto there = began_ + granules * server_.delay_a_granule.load();
    answer_after(there - std::chrono::steady_clock::now(),
                 [=, this] { ServedObject::start_read(offset, into, deadline, done); });
  }

 private:
  CountingServer& server_;
  mutable std::atomic<bool> refused_{false};
  mutable std::once_flag begun_;
  mutable std::chrono::steady_clock::time_point began_;
};

TEST(StreamedThroughCache, EightProcessesStreamEachObjectOnce) {
  const TemporaryFolder folder;
  CountingServer server(50 * kGranule + 1, 10);
  server.delay = milliseconds(2);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 8; ++i)
    children.push_back(in_child(
        [&] { return read_everything<StreamedObject>(server, options(folder.path()), i); }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(server.streams(), server.objects());
  EXPECT_EQ(server.most(), 1U);
}

TEST(StreamedThroughCache, WhoNeedsLittleStillFillsItForTheOthers) {
  const TemporaryFolder folder;
  CountingServer server(50 * kGranule);
  server.delay = milliseconds(5);
  Reader first(server, options(folder.path()));
  Reader second(server, options(folder.path()));
  const auto a = first.open<StreamedObject>();
  const auto b = second.open<StreamedObject>();
  EXPECT_TRUE(reads_right(*a, 0, 20 * kGranule, 1));
  EXPECT_TRUE(reads_right(*b, 0, 0, server.bytes()));
  EXPECT_EQ(server.streams(), 1U);
}

TEST(StreamedThroughCache, WhoClosesGivesTheTurnUp) {
  const TemporaryFolder folder;
  CountingServer server(50 * kGranule);
  server.delay = milliseconds(5);
  Reader first(server, options(folder.path()));
  Reader second(server, options(folder.path()));
  EXPECT_TRUE(reads_right(*first.open<StreamedObject>(), 0, 0, 1));
  const auto source = second.open<StreamedObject>();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(server.streams(), 2U);
  EXPECT_EQ(server.most(), 1U);
}

TEST(StreamedThroughCache, AnotherTakesTheTurnOfWhoIsKilled) {
  const TemporaryFolder folder;
  CountingServer server(200 * kGranule, 3);
  server.delay = milliseconds(5);
  std::vector<pid_t> children;
  unsigned seed = 0;
  const auto start = [&] {
    ++seed;
    return in_child(
        [&] { return read_everything<StreamedObject>(server, options(folder.path()), seed); });
  };
  for (unsigned i = 0; i < 4; ++i) children.push_back(start());
  std::mt19937 random(1);
  constexpr unsigned kKills = 8;
  for (unsigned kill = 0; kill < kKills; ++kill) {
    std::this_thread::sleep_for(milliseconds(20 + random() % 40));
    pid_t& child = children[random() % children.size()];
    ::kill(child, SIGKILL);
    wait_for(child);
    child = start();
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  // A killed process held the turn of one object at most.
  EXPECT_LE(server.streams(), server.objects() + kKills);
}

TEST(StreamedThroughCache, WhileBytesComeTheOthersWait) {
  const TemporaryFolder folder;
  CountingServer server(200 * kGranule);
  server.delay = milliseconds(40);
  CacheOptions impatient = options(folder.path());
  impatient.patience = milliseconds(1000);  // all of it takes longer
  Reader first(server, impatient);
  Reader second(server, impatient);
  const auto a = first.open<StreamedObject>();
  const auto b = second.open<StreamedObject>();
  EXPECT_TRUE(reads_right(*a, 0, 0, 1));
  EXPECT_TRUE(reads_right(*b, 0, server.bytes() - 1, 1));
  EXPECT_EQ(server.streams(), 1U);
}

TEST(StreamedThroughCache, NobodyWaitsForeverForWhoIsStopped) {
  const TemporaryFolder folder;
  CountingServer server(50 * kGranule);
  server.delay = milliseconds(50);
  const pid_t child =
      in_child([&] { return read_everything<StreamedObject>(server, options(folder.path()), 1); });
  std::this_thread::sleep_for(milliseconds(200));
  ::kill(child, SIGSTOP);
  CacheOptions impatient = options(folder.path());
  impatient.patience = milliseconds(100);
  Reader reader(server, impatient);
  const auto source = reader.open<StreamedObject>();
  EXPECT_TRUE(reads_right(*source, 0, server.bytes() - 1, 1));
  // Whom it has given up on it does not wait for again.
  server.delay = milliseconds(0);
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t at = server.bytes() / 2; at < server.bytes(); at += kGranule)
    EXPECT_TRUE(reads_right(*source, 0, at, 1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(500));
  EXPECT_EQ(server.streams(), 2U);
  ::kill(child, SIGKILL);
  wait_for(child);
}

TEST(StreamedThroughCache, WhoTakesTheTurnOverIsWaitedForThoughNothingNewComesAtFirst) {
  const TemporaryFolder folder;
  CountingServer server(100 * kGranule);
  CacheOptions impatient = options(folder.path());
  impatient.patience = milliseconds(400);
  server.delay_a_granule = milliseconds(5);  // the rest takes longer than closing
  {
    Reader first(server, impatient);
    EXPECT_TRUE(reads_right(*first.open<StreamedObject>(), 0, 0, 80 * kGranule));
  }
  server.delay_a_granule = milliseconds(10);
  Reader second(server, impatient);
  Reader third(server, impatient);
  const auto a = second.open<StreamedObject>();
  const auto b = third.open<StreamedObject>();
  std::promise<bool> read;
  std::vector<std::byte> last(1);
  a->start_read(server.bytes() - 1, last, kNow,
                [&](const Status& status) { read.set_value(status.ok()); });
  EXPECT_TRUE(reads_right(*b, 0, server.bytes() - 1, 1));
  EXPECT_TRUE(read.get_future().get());
  EXPECT_EQ(server.streams(), 2U);
}

TEST(StreamedThroughCache, DamageIsStreamedAnew) {
  const TemporaryFolder folder;
  CountingServer server(50 * kGranule);
  ASSERT_TRUE(read_everything<StreamedObject>(server, options(folder.path()), 1));
  const std::string path = only_object_file(folder.path());
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-static_cast<std::streamoff>(7 * kGranule), std::ios::end);
  file << "damage";
  file.close();
  Reader reader(server, options(folder.path()));
  EXPECT_TRUE(reads_right(*reader.open<StreamedObject>(), 0, 0, server.bytes()));
  EXPECT_EQ(reader.cache->counters().damaged, 1U);
  EXPECT_EQ(server.streams(), 2U);
}

TEST(StreamedThroughCache, AWrongUseIsAnErrorAndNoReasonToStream) {
  class Refusing : public ServedObject {
   public:
    Refusing(CountingServer& server, uint64_t object)
        : ServedObject(server, object), server_(server) {}
    void start_read(uint64_t, MutableBytes, Deadline, const Done& done) const override {
      ++server_.requests();
      done(Error{.code = Code::kUsage, .message = "a redirect to nowhere"});
    }

   private:
    CountingServer& server_;
  };
  const TemporaryFolder folder;
  CountingServer server(kGranule);
  Reader reader(server, options(folder.path()));
  std::vector<std::byte> bytes(1);
  const Status status = reader.open<Refusing>()->read_at(0, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "a redirect to nowhere");
  EXPECT_EQ(server.requests(), 1U);
}

TEST(StreamedThroughCache, AFailedStreamIsAnErrorAndTriedAgainLater) {
  const TemporaryFolder folder;
  CountingServer server(40 * kGranule);
  server.failures = 1000;
  Reader reader(server, options(folder.path()));
  const auto source = reader.open<StreamedObject>();
  std::vector<std::byte> bytes(server.bytes());
  const Status failed = source->read_at(0, bytes);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "the server is down");
  server.failures = 0;
  EXPECT_TRUE(reads_right(*source, 0, 0, server.bytes()));
}

TEST(StreamedThroughCache, WhatIsNotKeptEachProcessStreams) {
  const TemporaryFolder folder;
  CountingServer server(100 * kGranule);
  std::vector<pid_t> children;
  children.reserve(3);
  for (int i = 0; i < 3; ++i)
    children.push_back(in_child(
        [&] { return read_with_small_files<StreamedObject>(server, options(folder.path())); }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_LE(server.streams(), 3U);
}

}  // namespace
}  // namespace headrace
