// Uploads in parts that others left, took up, or are at: on real servers.
//
// A writer that is killed is a sink that is never destroyed.
#include <thread>

#include "headrace/network.h"
#include "io/bucket/live_bucket.h"
#include "io/bucket/upload_sink.h"
#include "io/environment.h"
#include "io/gs/gs_service.h"

namespace headrace {
namespace {

/// Google's parts are large; these are not, so that there can be many. And the emulator answers 500
/// where Google says 404: that there is no such source.
class SmallGoogle : public GsService {
 public:
  static constexpr uint64_t kPart = uint64_t{16} << 10;

  explicit SmallGoogle(bool composes = true)
      : GsService("bucket", Url::parse(environment("STORAGE_EMULATOR_HOST")).value(), true,
                  nullptr),
        composes_(composes) {}
  UploadLimits limits() const override { return {kPart, GsService::limits().most_parts}; }
  HttpCall complete_upload(const Upload& upload, bool if_absent) const override {
    Upload asked = upload;
    if (!composes_) asked.parts = {"missing"};
    HttpCall call = GsService::complete_upload(asked, if_absent);
    call.retry = false;
    return call;
  }
  bool is_lost(const HttpResponse& answer) const override {
    HttpResponse meant = answer;
    if (answer.status == 500) meant.status = 404;
    return GsService::is_lost(meant);
  }

 private:
  const bool composes_;
};

uint64_t requests() {
  uint64_t sum = 0;
  for (const auto& [host, counters] : network_counters()) sum += counters.requests;
  return sum;
}

class LiveUpload : public LiveBucket {
 protected:
  bool is_google() const { return root_.starts_with("gs:"); }
  size_t part_bytes() const { return is_google() ? SmallGoogle::kPart : size_t{8} << 20; }

  std::string key(const std::string& path) const {
    return root_.substr(std::string("gs://bucket/").size()) + "/" + path;
  }
  std::unique_ptr<ByteSink> google_sink(const std::string& path, bool composes = true) const {
    return std::make_unique<UploadSink>(Fetcher::shared(), std::make_shared<SmallGoogle>(composes),
                                        key(path));
  }
  std::unique_ptr<ByteSink> create(const std::string& path) const {
    if (is_google()) return google_sink(path);
    return std::move(store_->create(path)).value();
  }

  /// Appends, and waits until all whole parts of it have arrived.
  void send(ByteSink& sink, const std::string& bytes) const {
    const uint64_t before = requests();
    ASSERT_EQ(said(sink.append(as_bytes(bytes))), "");
    const uint64_t look_and_begin = root_.starts_with("s3:") ? 2 : 1;
    const uint64_t parts = (bytes.size() - 1) / part_bytes();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (requests() - before < look_and_begin + parts) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  /// Writes as a process does that is killed after these bytes.
  void write_and_be_killed(const std::string& path, const std::string& bytes) const {
    static auto& killed = *new std::vector<std::unique_ptr<ByteSink>>;  // NOLINT
    killed.push_back(create(path));
    send(*killed.back(), bytes);
  }
  Status write(const std::string& path, const std::string& bytes) const {
    const auto sink = create(path);
    if (Status status = sink->append(as_bytes(bytes)); !status.ok()) return status;
    return sink->commit();
  }
  bool is(const std::string& path, const std::string& bytes) const {
    const auto there = store_->read(path);
    return there.ok() && *there == bytes;
  }
  /// Also those that Store::list() hides.
  std::vector<std::string> google_objects() const {
    const SmallGoogle service;
    std::vector<std::string> names;
    ListRequest request{key("")};
    do {
      const auto answer =
          send_to(service, *Fetcher::shared(), [&] { return service.list(request); });
      const auto page = service.parse_list(*answer);
      for (const ListedObject& object : page->entries) names.push_back(object.path);
      request.token = page->next;
    } while (!request.token.empty());
    return names;
  }
};

TEST_F(LiveUpload, WhatAKilledWriterSentIsNotSentAgain) {
  const std::string bytes = noise(6 * part_bytes() + 999, 1);
  write_and_be_killed("x", bytes.substr(0, 4 * part_bytes() + 1));
  EXPECT_TRUE(store_->list("")->empty());
  const uint64_t before = requests();
  ASSERT_EQ(said(write("x", bytes)), "");
  const uint64_t asked = requests() - before;
  EXPECT_TRUE(is("x", bytes));
  const uint64_t looks = root_.starts_with("s3:") ? 2 : 1;
  const uint64_t removals = is_google() ? 7 : 0;
  EXPECT_EQ(asked, looks + 3 + 1 + removals) << "looks, three parts and the completion";
  if (is_google()) {
    EXPECT_EQ(google_objects().size(), 1U);
  }
}

TEST_F(LiveUpload, SmallObjectsPayNothingForIt) {
  ASSERT_EQ(said(write("warm", "x")), "");  // region and credentials are known
  const uint64_t before = requests();
  ASSERT_EQ(said(write("x", noise(part_bytes(), 2))), "");
  EXPECT_EQ(requests() - before, 1U);
}

TEST_F(LiveUpload, UnfinishedUploadsOfOtherBytesAreNotUsed) {
  write_and_be_killed("x", noise(3 * part_bytes() + 1, 3));
  const std::string bytes = noise(3 * part_bytes() + 1, 4);
  ASSERT_EQ(said(write("x", bytes)), "");
  EXPECT_TRUE(is("x", bytes));
}

TEST_F(LiveUpload, OfUploadsThatBeginAlikeOnlyEqualPartsAreUsed) {
  std::string bytes = noise(4 * part_bytes() + 1, 5);
  write_and_be_killed("x", bytes);
  bytes[2 * part_bytes() + 7] ^= 1;
  bytes.resize(4 * part_bytes() - 3);
  ASSERT_EQ(said(write("x", bytes)), "");
  EXPECT_TRUE(is("x", bytes));
}

TEST_F(LiveUpload, PartsThatAreEqualToEachOtherHaveTheirPlaceEach) {
  const std::string bytes(4 * part_bytes(), 'z');
  write_and_be_killed("x", bytes);
  ASSERT_EQ(said(write("x", bytes)), "");
  EXPECT_TRUE(is("x", bytes));
}

TEST_F(LiveUpload, ALongerKeyIsAnotherKey) {
  const std::string bytes = noise(2 * part_bytes() + 1, 6);
  write_and_be_killed("x.more", bytes);
  ASSERT_EQ(said(write("x", bytes)), "");
  EXPECT_TRUE(is("x", bytes));
  EXPECT_FALSE(*store_->exists("x.more"));
}

TEST_F(LiveUpload, TwoWritersOfTheSameBytesAtOnceMakeTheObject) {
  const std::string bytes = noise(5 * part_bytes() + 5, 7);
  const auto first = create("x");
  send(*first, bytes.substr(0, 3 * part_bytes()));
  ASSERT_EQ(said(write("x", bytes)), "") << "it takes up what the first one has sent";
  EXPECT_TRUE(is("x", bytes));
  Status late = first->append(as_bytes(bytes.substr(3 * part_bytes())));
  if (late.ok()) late = first->commit();
  if (!late.ok()) {
    EXPECT_EQ(late.error().code, Code::kChanged) << said(late);
  }
  EXPECT_TRUE(is("x", bytes));
  ASSERT_EQ(said(write("x", bytes)), "") << "the same command again";
  EXPECT_TRUE(is("x", bytes));
}

TEST_F(LiveUpload, TwoWritersOfBytesThatBeginAlikeNeverMakeAMix) {
  const std::string one = noise(4 * part_bytes() + 5, 8);
  std::string other = one;
  other[2 * part_bytes()] ^= 1;
  const auto first = create("x");
  send(*first, one);
  const auto second = create("x");
  ASSERT_EQ(said(second->append(as_bytes(other))), "");
  const Status lost = first->commit();
  EXPECT_TRUE(lost.ok() || lost.error().code == Code::kChanged) << said(lost);
  const Status won = second->commit();
  EXPECT_TRUE(lost.ok() || won.ok()) << said(won);
  EXPECT_TRUE(won.ok() || won.error().code == Code::kChanged) << said(won);
  EXPECT_TRUE(is("x", won.ok() ? other : one));
}

TEST_F(LiveUpload, AWriterThatGivesUpWhatItTookUpLeavesNothing) {
  const std::string bytes = noise(3 * part_bytes() + 1, 9);
  write_and_be_killed("x", bytes);
  ASSERT_EQ(said(create("x")->append(as_bytes(bytes))), "");
  EXPECT_TRUE(store_->list("")->empty());
  if (is_google()) {
    EXPECT_TRUE(google_objects().empty());
  }
}

TEST_F(LiveUpload, GoogleComposesInRounds) {
  if (!is_google()) GTEST_SKIP() << "other services take all parts at once";
  for (const size_t parts : {33, 1025}) {
    SCOPED_TRACE(parts);
    const std::string bytes = noise((parts * part_bytes()) - 3, parts);
    const auto sink = google_sink("x");
    ASSERT_EQ(said(sink->append(as_bytes(bytes))), "");
    ASSERT_EQ(said(sink->commit()), "");
    EXPECT_TRUE(is("x", bytes));
  }
  EXPECT_EQ(google_objects(), std::vector<std::string>{key("x")});
}

TEST_F(LiveUpload, WhatGoogleComposedIsRemovedWhenTheLastCompositionFails) {
  if (!is_google()) GTEST_SKIP() << "other services take all parts at once";
  {
    const auto sink = google_sink("x", false);
    ASSERT_EQ(said(sink->append(as_bytes(noise(70 * part_bytes(), 10)))), "");
    EXPECT_FALSE(sink->commit().ok());
    EXPECT_EQ(google_objects().size(), 73U);
  }
  EXPECT_TRUE(google_objects().empty());
}

}  // namespace
}  // namespace headrace
