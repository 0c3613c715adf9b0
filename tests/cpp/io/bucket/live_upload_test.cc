// Uploads in parts that others left, took up, or are at: on real servers.
//
// A writer that is killed is a sink that is never destroyed.
#include <thread>

#include "headrace/network.h"
#include "io/az/azure_setup.h"
#include "io/bucket/bucket_store.h"
#include "io/bucket/live_bucket.h"
#include "io/bucket/upload_sink.h"
#include "io/environment.h"
#include "io/gs/gs_service.h"
#include "io/s3/credential_chain.h"
#include "io/s3/s3_service.h"

namespace headrace {
namespace {

std::atomic<size_t> parts_that_arrived = 0;

/// Counts. And emulators answer 500 where services say 404: no such upload, no such source.
template <class Service>
class Watched : public Service {
 public:
  using Service::Service;
  HttpCall put_part(const Upload& upload, const std::string& name,
                    const std::shared_ptr<const std::string>& body) const override {
    HttpCall call = Service::put_part(upload, name, body);
    call.retry = false;
    return call;
  }
  std::string part_mark(const HttpResponse& answer, const std::string& name) const override {
    ++parts_that_arrived;
    return Service::part_mark(answer, name);
  }
  HttpCall complete_upload(const Upload& upload, bool if_absent) const override {
    HttpCall call = Service::complete_upload(upload, if_absent);
    call.retry = false;
    return call;
  }
  bool is_lost(const HttpResponse& answer) const override {
    HttpResponse meant = answer;
    if (answer.status == 500) meant.status = 404;
    return Service::is_lost(meant);
  }
};

/// Google's parts are large; these are not, so that there can be many.
class SmallGoogle : public Watched<GsService> {
 public:
  static constexpr uint64_t kPart = uint64_t{16} << 10;

  using Watched::Watched;
  UploadLimits limits() const override { return {kPart, GsService::limits().most_parts}; }
};

/// Its last composition fails.
class BrokenGoogle : public SmallGoogle {
 public:
  using SmallGoogle::SmallGoogle;
  HttpCall complete_upload(const Upload& upload, bool if_absent) const override {
    return SmallGoogle::complete_upload({.key = upload.key, .parts = {"missing"}}, if_absent);
  }
};

Url emulator() { return Url::parse(environment("STORAGE_EMULATOR_HOST")).value(); }

std::shared_ptr<const BucketService> service_of(const std::string& location) {
  const std::string bucket = BucketLocation::parse(location)->bucket;
  if (location.starts_with("gs:"))
    return std::make_shared<SmallGoogle>(bucket, emulator(), true, nullptr);
  if (location.starts_with("az:")) {
    AzureSetup setup = AzureSetup::from_environment(Fetcher::shared()).value();
    return std::make_shared<Watched<AzService>>(bucket, setup.endpoint, setup.access);
  }
  return std::make_shared<Watched<S3Service>>(
      "s3", bucket, S3Options::from_environment().value(),
      std::make_shared<S3Signer>(shared_credentials(Fetcher::shared()), "us-east-1"));
}

/// rclone has passed a part on: another one of its number is refused.
bool refused_to_replace(const Status& status) {
  return !status.ok() && status.error().message.find("cannot be replaced") != std::string::npos;
}

uint64_t requests() {
  uint64_t sum = 0;
  for (const auto& [host, counters] : network_counters()) sum += counters.requests;
  return sum;
}

class LiveUpload : public LiveBucket {
 protected:
  void SetUp() override {
    LiveBucket::SetUp();
    if (IsSkipped()) return;
    service_ = service_of(root_);
    part_bytes_ = service_->limits().part_bytes;
  }
  bool is_google() const { return root_.starts_with("gs:"); }
  std::string key(const std::string& path) const {
    return BucketLocation::parse(root_)->prefix + "/" + path;
  }
  std::unique_ptr<ByteSink> create(const std::string& path) const {
    return std::make_unique<UploadSink>(Fetcher::shared(), service_, key(path));
  }

  /// Appends, and waits until all whole parts of it have arrived.
  void send(ByteSink& sink, const std::string& bytes) const {
    const size_t parts = parts_that_arrived + ((bytes.size() - 1) / part_bytes_);
    ASSERT_EQ(said(sink.append(as_bytes(bytes))), "");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (parts_that_arrived < parts) {
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
    std::vector<std::string> names;
    ListRequest request{key("")};
    do {
      const auto answer =
          send_to(*service_, *Fetcher::shared(), [&] { return service_->list(request); });
      const auto page = service_->parse_list(*answer);
      for (const ListedObject& object : page->entries) names.push_back(object.path);
      request.token = page->next;
    } while (!request.token.empty());
    return names;
  }

  std::shared_ptr<const BucketService> service_;
  size_t part_bytes_ = 0;
};

TEST_F(LiveUpload, WhatAKilledWriterSentIsNotSentAgain) {
  const std::string bytes = noise(6 * part_bytes_ + 999, 1);
  write_and_be_killed("x", bytes.substr(0, 4 * part_bytes_ + 1));
  EXPECT_TRUE(store_->list("")->empty());
  const uint64_t before = requests();
  const size_t parts = parts_that_arrived;
  ASSERT_EQ(said(write("x", bytes)), "");
  const uint64_t asked = requests() - before;
  EXPECT_EQ(parts_that_arrived - parts, 3U);
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
  ASSERT_EQ(said(write("x", noise(part_bytes_, 2))), "");
  EXPECT_EQ(requests() - before, 1U);
}

TEST_F(LiveUpload, UnfinishedUploadsOfOtherBytesAreNotUsed) {
  write_and_be_killed("x", noise(3 * part_bytes_ + 1, 3));
  const std::string bytes = noise(3 * part_bytes_ + 1, 4);
  ASSERT_EQ(said(write("x", bytes)), "");
  EXPECT_TRUE(is("x", bytes));
}

TEST_F(LiveUpload, OfUploadsThatBeginAlikeOnlyEqualPartsAreUsed) {
  std::string bytes = noise(4 * part_bytes_ + 1, 5);
  write_and_be_killed("x", bytes);
  bytes[2 * part_bytes_ + 7] ^= 1;
  bytes.resize(4 * part_bytes_ - 3);
  const Status done = write("x", bytes);
  if (!done.ok()) {
    EXPECT_TRUE(refused_to_replace(done)) << said(done);
    ASSERT_EQ(said(write("x", bytes)), "") << "the same command again";
  }
  EXPECT_TRUE(is("x", bytes));
}

TEST_F(LiveUpload, AnObjectThatEndsSoonerThanAnUnfinishedUploadOfTheSameParts) {
  const std::string bytes = noise((4 * part_bytes_) + 1, 11);
  write_and_be_killed("x", bytes);
  const Status done = write("x", bytes.substr(0, 3 * part_bytes_));
  if (!done.ok()) {  // rclone: a completion must name all parts
    EXPECT_EQ(done.error().code, Code::kChanged) << said(done);
    ASSERT_EQ(said(write("x", bytes.substr(0, 3 * part_bytes_))), "") << "the same command again";
  }
  EXPECT_TRUE(is("x", bytes.substr(0, 3 * part_bytes_)));
}

TEST_F(LiveUpload, PartsThatAreEqualToEachOtherHaveTheirPlaceEach) {
  const std::string bytes(4 * part_bytes_, 'z');
  write_and_be_killed("x", bytes);
  ASSERT_EQ(said(write("x", bytes)), "");
  EXPECT_TRUE(is("x", bytes));
}

TEST_F(LiveUpload, ALongerKeyIsAnotherKey) {
  const std::string bytes = noise(2 * part_bytes_ + 1, 6);
  write_and_be_killed("x.more", bytes);
  ASSERT_EQ(said(write("x", bytes)), "");
  EXPECT_TRUE(is("x", bytes));
  EXPECT_FALSE(*store_->exists("x.more"));
}

TEST_F(LiveUpload, TwoWritersOfTheSameBytesAtOnceMakeTheObject) {
  const std::string bytes = noise(5 * part_bytes_ + 5, 7);
  const auto first = create("x");
  send(*first, bytes.substr(0, 3 * part_bytes_));
  ASSERT_EQ(said(write("x", bytes)), "") << "it takes up what the first one has sent";
  EXPECT_TRUE(is("x", bytes));
  Status late = first->append(as_bytes(bytes.substr(3 * part_bytes_)));
  if (late.ok()) late = first->commit();
  if (!late.ok()) {
    EXPECT_EQ(late.error().code, Code::kChanged) << said(late);
  }
  EXPECT_TRUE(is("x", bytes));
  ASSERT_EQ(said(write("x", bytes)), "") << "the same command again";
  EXPECT_TRUE(is("x", bytes));
}

TEST_F(LiveUpload, TwoWritersOfBytesThatBeginAlikeNeverMakeAMix) {
  const std::string one = noise(4 * part_bytes_ + 5, 8);
  std::string other = one;
  other[2 * part_bytes_] ^= 1;
  const auto first = create("x");
  send(*first, one);
  const auto second = create("x");
  ASSERT_EQ(said(second->append(as_bytes(other))), "");
  const Status lost = first->commit();
  EXPECT_TRUE(lost.ok() || lost.error().code == Code::kChanged) << said(lost);
  const Status won = second->commit();
  EXPECT_TRUE(won.ok() || won.error().code == Code::kChanged || refused_to_replace(won))
      << said(won);
  EXPECT_TRUE(lost.ok() || won.ok() || refused_to_replace(won)) << said(won);
  EXPECT_EQ(*store_->exists("x"), lost.ok() || won.ok());
  if (lost.ok() || won.ok()) {
    EXPECT_TRUE(is("x", won.ok() ? other : one));
  }
}

TEST_F(LiveUpload, AWriterThatGivesUpWhatItTookUpLeavesNothing) {
  const std::string bytes = noise(3 * part_bytes_ + 1, 9);
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
    const std::string bytes = noise((parts * part_bytes_) - 3, parts);
    const auto sink = create("x");
    ASSERT_EQ(said(sink->append(as_bytes(bytes))), "");
    ASSERT_EQ(said(sink->commit()), "");
    EXPECT_TRUE(is("x", bytes));
  }
  EXPECT_EQ(google_objects(), std::vector<std::string>{key("x")});
}

TEST_F(LiveUpload, WhatGoogleComposedIsRemovedWhenTheLastCompositionFails) {
  if (!is_google()) GTEST_SKIP() << "other services take all parts at once";
  {
    UploadSink sink(Fetcher::shared(),
                    std::make_shared<BrokenGoogle>("bucket", emulator(), true, nullptr), key("x"));
    ASSERT_EQ(said(sink.append(as_bytes(noise(70 * part_bytes_, 10)))), "");
    EXPECT_FALSE(sink.commit().ok());
    EXPECT_EQ(google_objects().size(), 73U);
  }
  EXPECT_TRUE(google_objects().empty());
}

}  // namespace
}  // namespace headrace
