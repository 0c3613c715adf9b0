// Jobs of reshaping, whole, with several threads: here mainly for the sanitizers, which see the
// threads at work. What each verb means is tested through the program.
#include "job/reshape/run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/digest.h"
#include "job/pack.h"
#include "job/reshape/verbs.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

class Run : public ::testing::Test {
 protected:
  void SetUp() override {
    constexpr int kSamples = 240;
    for (int i = 0; i < kSamples; ++i) {
      const std::string key = folder_ / "files/s" + std::to_string(1000 + i);
      write_file(key + ".bin", std::string(static_cast<size_t>(i * 977 % 30'000),
                                           static_cast<char>('a' + i % 26)));
      write_file(key + ".cls", std::to_string(i % 7));
    }
    PackOptions options;
    options.sources = {folder_ / "files"};
    options.out = folder_ / "set";
    options.shard_samples = 50;
    options.fsync = false;
    Progress progress;
    ASSERT_TRUE(pack(options, progress).ok());
  }

  ReshapePlan plan(const std::string& verb, const std::string& out, MapStep step = {}) const {
    ReshapeOptions options;
    options.verb = verb;
    options.sources = {folder_ / "set"};
    options.out = folder_ / out;
    options.cut.shards = verb == "merge" ? 1 : 7;
    if (verb == "map") options.map = std::move(step);
    auto plan = plan_reshape(options);
    EXPECT_TRUE(plan.ok()) << plan.error().to_string();
    return *std::move(plan);
  }

  RunOptions options(unsigned threads, Algorithm algorithm = Algorithm::kAuto) const {
    RunOptions options;
    options.threads = threads;
    options.algorithm = algorithm;
    options.memory_bytes = uint64_t{1} << 20;
    options.scratch = folder_ / "scratch";
    options.fsync = false;
    return options;
  }

  // The names and bytes of all that lies at the destination.
  std::string digest(const std::string& out) const {
    const auto store = open_store(folder_ / out);
    std::string text;
    const auto entries = (*store)->list("");
    for (const StoreEntry& entry : *entries)
      text += entry.path + " " + sha256_hex(as_bytes(*(*store)->read(entry.path))) + "\n";
    return text;
  }

  void expect_same_bytes(const std::string& verb, Algorithm algorithm, const MapStep& step = {}) {
    std::filesystem::create_directory(folder_ / "scratch");
    for (const unsigned threads : {1U, 4U}) {
      Progress progress;
      const auto report = run_plan(plan(verb, "out" + std::to_string(threads), step),
                                   options(threads, algorithm), progress);
      ASSERT_TRUE(report.ok()) << report.error().to_string();
      EXPECT_EQ(report->samples, 240U);
    }
    EXPECT_EQ(digest("out1"), digest("out4"));
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "scratch"));
  }

  const TemporaryFolder folder_;
};

TEST_F(Run, ShuffleByGathering) { expect_same_bytes("shuffle", Algorithm::kGather); }

TEST_F(Run, ShuffleInTwoPasses) { expect_same_bytes("shuffle", Algorithm::kBuckets); }

TEST_F(Run, Merge) { expect_same_bytes("merge", Algorithm::kGather); }

TEST_F(Run, Map) {
  expect_same_bytes("map", Algorithm::kAuto, {.what = "wc -c <sample.bin >sample.size"});
}

TEST_F(Run, MapNamesTheSampleThatFails) {
  Progress progress;
  std::filesystem::create_directory(folder_ / "scratch");
  const auto report = run_plan(
      plan("map", "out", {.what = R"([ "$HEADRACE_KEY" != s1123 ] || { echo no luck; exit 3; })"}),
      options(4), progress);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().origin.member, "s1123");
  EXPECT_NE(report.error().message.find("no luck"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "scratch"));
}

// The commands that are at work are ended, and the next run goes on.
TEST_F(Run, MapStopsAtOnce) {
  std::filesystem::create_directory(folder_ / "scratch");
  const MapStep sleeper{.what = "[ -e " + folder_ / "go" + " ] || sleep 600"};
  Progress progress;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    progress.stop = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto stopped = run_plan(plan("map", "out", sleeper), options(3), progress);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Code::kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "scratch"));
  write_file(folder_ / "go", "");
  Progress again;
  const auto report = run_plan(plan("map", "out", sleeper), options(3), again);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->samples, 240U);
}

}  // namespace
}  // namespace headrace
