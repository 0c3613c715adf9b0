// Objects of servers without ranges: streamed once into a temporary file, whole and true, or an
// error.
#include "io/http/download.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <future>

#include "base/stop_scope.h"
#include "headrace/notes.h"
#include "hostile_server.h"
#include "io/http/http_store.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kBytes = uint64_t{3} << 20;  // more than a spool keeps in memory

/// The n-th request meets the n-th fault; those after them none.
HostileServer::Choose in_turn(const std::vector<Fault>& faults) {
  return [faults, next = std::make_shared<std::atomic<size_t>>(0)](const HostileServer::Request&) {
    const size_t n = (*next)++;
    return n < faults.size() ? faults[n] : Fault::none;
  };
}

struct Server {
  explicit Server(const std::vector<Fault>& faults,
                  HostileServer::Habits habits = {.ranges = false})
      : http(kBytes, in_turn(faults), habits),
        fetcher(std::make_shared<Fetcher>(quick())),
        store(*Url::parse(http.url().substr(0, http.url().rfind('/'))), fetcher, nullptr),
        source(*store.open_known("object", kBytes)) {}

  HostileServer http;
  std::shared_ptr<Fetcher> fetcher;
  HttpStore store;
  std::unique_ptr<ByteSource> source;
};

testing::AssertionResult reads_truth(const ByteSource& source, uint64_t offset, uint64_t size) {
  std::vector<std::byte> bytes(size);
  const Status status = source.read_at(offset, bytes);
  if (!status.ok()) return testing::AssertionFailure() << status.error().to_string();
  for (uint64_t i = 0; i < size; ++i)
    if (bytes[i] != HostileServer::byte_at(offset + i))
      return testing::AssertionFailure() << "byte " << offset + i;
  return testing::AssertionSuccess();
}

void wait_until_local(const ByteSource& source) {
  for (int i = 0; i < 1000 && source.is_remote(); ++i) std::this_thread::sleep_for(1ms);
  ASSERT_FALSE(source.is_remote());
}

TEST(Download, TheFirstReadFindsOutAndOneAnswerServesAll) {
  Server server({});
  EXPECT_FALSE(server.source->is_spooled());
  EXPECT_TRUE(reads_truth(*server.source, 123, 1000));
  EXPECT_TRUE(server.source->is_spooled());
  EXPECT_TRUE(reads_truth(*server.source, 0, kBytes));
  EXPECT_TRUE(reads_truth(*server.source, kBytes - 7, 7));
  wait_until_local(*server.source);
  EXPECT_TRUE(reads_truth(*server.source, kBytes / 2, 5000));
  EXPECT_EQ(server.http.requests(), 2U);  // the range that was tried, and the stream
  const auto notes = take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("serves no ranges"), std::string::npos);
}

TEST(Download, WhatHasArrivedIsReadWhileTheRestComes) {
  Server server({Fault::none, Fault::stall_in_body});
  EXPECT_TRUE(reads_truth(*server.source, 0, 1000));
  EXPECT_TRUE(server.source->is_remote());
}

TEST(Download, ItEndsWithItsSource) {
  Server server({Fault::none, Fault::stall_in_body});
  EXPECT_TRUE(reads_truth(*server.source, 0, 1000));
  server.source.reset();
  const auto begin = std::chrono::steady_clock::now();
  server.fetcher.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
}

TEST(Download, WhoLeavesDisturbsNobody) {
  Server server({Fault::none, Fault::stall_in_body});
  EXPECT_TRUE(reads_truth(*server.source, 0, 1000));
  std::stop_source stop;
  auto left = std::async(std::launch::async, [&] {
    const StopScope scope(stop.get_token());
    std::vector<std::byte> bytes(1000);
    return server.source->read_at(kBytes - 1000, bytes);
  });
  auto stays =
      std::async(std::launch::async, [&] { return reads_truth(*server.source, 0, kBytes); });
  std::this_thread::sleep_for(100ms);
  const auto begin = std::chrono::steady_clock::now();
  stop.request_stop();
  const Status status = left.get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 500ms);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kInterrupted);
  EXPECT_TRUE(stays.get());
}

TEST(Download, ABreakInTheBodyIsRepeated) {
  for (const Fault fault : {Fault::reset_before_header, Fault::reset_in_body,
                            Fault::reset_at_last_byte, Fault::answer_503}) {
    Server server({Fault::none, fault, fault});
    EXPECT_TRUE(reads_truth(*server.source, 0, kBytes)) << static_cast<int>(fault);
    EXPECT_EQ(server.http.requests(), 4U) << static_cast<int>(fault);
  }
}

TEST(Download, TwoVersionsNeverMix) {
  for (const bool tag : {true, false}) {
    Server server({Fault::none, Fault::reset_in_body, Fault::another_version},
                  {.ranges = false, .tag = tag});
    std::vector<std::byte> bytes(kBytes);
    const Status status = server.source->read_at(0, bytes);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kChanged) << status.error().to_string();
    EXPECT_EQ(status.error().origin.shard, server.source->name());
  }
}

TEST(Download, AnotherSizeThanIsKnownIsAChange) {
  Server server({});
  const auto longer = *server.store.open_known("object", kBytes + 1);
  std::vector<std::byte> bytes(10);
  const Status status = longer->read_at(0, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kChanged) << status.error().to_string();
}

TEST(Download, AServerThatHasServedRangesIsNotTakenForOneWithout) {
  Server server({Fault::none, Fault::whole_for_range, Fault::whole_for_range}, {});
  EXPECT_TRUE(reads_truth(*server.source, 0, 1000));
  EXPECT_TRUE(reads_truth(*server.source, 5000, 1000));
  EXPECT_FALSE(server.source->is_spooled());
  EXPECT_EQ(server.http.requests(), 4U);
}

TEST(Download, AfterAnErrorItBeginsAnew) {
  Server server(std::vector<Fault>(30, Fault::reset_before_header));
  std::vector<std::byte> bytes(10);
  EXPECT_FALSE(server.source->read_at(0, bytes).ok());
  for (int i = 0; i < 10; ++i)
    if (server.source->read_at(0, bytes).ok()) break;
  EXPECT_TRUE(reads_truth(*server.source, 0, kBytes));
}

TEST(Download, WhatCannotBeWrittenIsSaidWithItsPlace) {
  ASSERT_EQ(::setenv("TMPDIR", "/proc/no-such-place", 1), 0);
  Server server({});
  std::vector<std::byte> bytes(kBytes);
  const Status status = server.source->read_at(0, bytes);
  ::unsetenv("TMPDIR");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().origin.shard, server.source->name());
  EXPECT_NE(status.error().message.find("/proc/no-such-place"), std::string::npos);
}

TEST(Download, AChildReadsWhatIsCompleteAndStreamsTheRestAnew) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a child of a process that has some";
#endif
  Server whole({});
  ASSERT_TRUE(reads_truth(*whole.source, 0, kBytes));
  wait_until_local(*whole.source);
  Server half({Fault::none, Fault::stall_in_body});
  ASSERT_TRUE(reads_truth(*half.source, 0, 1000));
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(reads_truth(*whole.source, 0, kBytes) && reads_truth(*half.source, 0, kBytes) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(whole.http.requests(), 2U);
  EXPECT_EQ(half.http.requests(), 3U);
}

}  // namespace
}  // namespace headrace
