#include "headrace/dataset.h"

#include <gtest/gtest.h>

#include <thread>

#include "plan/manifest.h"
#include "sample_shards.h"

namespace headrace {
namespace {

std::shared_ptr<const Dataset> open_or_fail(const std::vector<std::string>& locations,
                                            const OpenOptions& options = {}) {
  auto set = Dataset::open(locations, options);
  EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().to_string());
  return set.ok() ? *set : nullptr;
}

void expect_sample(const Dataset& set, uint64_t n) {
  auto sample = set.sample(set.locate(n));
  ASSERT_TRUE(sample.ok()) << sample.error().to_string();
  EXPECT_EQ(sample->key(), "s" + std::to_string(n));
  EXPECT_EQ(as_text(sample->find("bin").value()), sample_payload(n));
  EXPECT_EQ(as_text(sample->find("cls").value()), std::to_string(n));
  EXPECT_FALSE(sample->find("jpg").has_value());
}

TEST(Dataset, ReadsEverySampleOfShardsWithoutAManifest) {
  const TemporaryFolder folder;
  write_shards(folder, {5, 0, 17, 1});
  const auto set = open_or_fail({folder.path()});
  ASSERT_EQ(set->size(), 23u);
  EXPECT_EQ(set->shards(), 4u);
  EXPECT_FALSE(set->has_manifest());
  for (uint64_t n = 0; n < set->size(); ++n) expect_sample(*set, n);
}

TEST(Dataset, OpensBraceRangesAndListsInTheOrderGiven) {
  const TemporaryFolder folder;
  const auto paths = write_shards(folder, {2, 3});
  EXPECT_EQ(open_or_fail({folder / "shard-{100..101}.tar"})->size(), 5u);
  const auto backwards = open_or_fail({paths[1], paths[0]});
  EXPECT_EQ(backwards->key({0, 0}).value(), "s2");
}

TEST(Dataset, FindsSamplesByKeyAlsoWhenAKeyComesTwice) {
  const TemporaryFolder folder;
  const auto paths = write_shards(folder, {30, 30});
  const auto set = open_or_fail(paths);
  for (uint64_t n = 0; n < 60; ++n) {
    const auto found = set->find("s" + std::to_string(n));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, std::vector<SampleId>{set->locate(n)});
  }
  EXPECT_TRUE(set->find("s60").value().empty());
  const auto twice = open_or_fail({paths[0], paths[0]});
  EXPECT_EQ(twice->find("s7").value(), (std::vector<SampleId>{{0, 7}, {1, 7}}));
}

TEST(Dataset, LooseFilesOpenWithTheSameKeys) {
  const TemporaryFolder folder;
  for (uint64_t n = 0; n < 2500; ++n) {
    const std::string stem = folder / ("d/s" + std::to_string(n));
    write_file(stem + ".bin", sample_payload(n));
    write_file(stem + ".cls", std::to_string(n));
  }
  const auto set = open_or_fail({folder.path()});
  ASSERT_EQ(set->size(), 2500u);
  EXPECT_EQ(set->shards(), 3u);
  const auto found = set->find("d/s1234").value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(as_text(set->sample(found[0]).value().find("cls").value()), "1234");
}

TEST(Dataset, TwoLooseFilesWithOneKeyAndFieldAreAnErrorThatNamesBoth) {
  const TemporaryFolder folder;
  write_file(folder / "a/x.txt", "1");
  write_file(folder / "b/x.txt", "2");
  const auto set = Dataset::open({folder.path()}, {.key_rule = "base"});
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().message.find("a/x.txt"), std::string::npos);
  EXPECT_NE(set.error().message.find("b/x.txt"), std::string::npos);
}

TEST(Dataset, FingerprintFollowsTheDataAndNotThePath) {
  const TemporaryFolder a, b, c;
  write_shards(a, {9, 4});
  write_shards(b, {9, 4});
  write_shards(c, {4, 9});
  EXPECT_EQ(open_or_fail({a.path()})->fingerprint(), open_or_fail({b.path()})->fingerprint());
  EXPECT_NE(open_or_fail({a.path()})->fingerprint(), open_or_fail({c.path()})->fingerprint());
}

TEST(Dataset, ManyThreadsReadAtOnce) {
  const TemporaryFolder folder;
  write_shards(folder, {40, 60, 20});
  const auto set = open_or_fail({folder.path()}, {.cache_in_memory = true});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (uint64_t n = 0; n < set->size(); ++n) expect_sample(*set, n);
    });
}

TEST(Dataset, NothingThereAndAnUnfinishedFolderAreRefused) {
  const TemporaryFolder folder;
  const auto nothing = Dataset::open({folder / "none"});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::kNotFound);
  write_shards(folder, {3});
  write_file(folder / kPendingName, "{}");
  const auto half = Dataset::open({folder.path()});
  ASSERT_FALSE(half.ok());
  EXPECT_EQ(half.error().code, Code::kPartial);
}

TEST(Dataset, AShardThatShrankSinceIsAnErrorWithItsName) {
  const TemporaryFolder folder;
  const auto paths = write_shards(folder, {50});
  const auto set = open_or_fail(paths);
  std::filesystem::resize_file(paths[0], 1000);
  const auto sample = set->sample({0, 40});
  ASSERT_FALSE(sample.ok());
  EXPECT_EQ(sample.error().code, Code::kChanged);
  EXPECT_EQ(sample.error().origin.shard, paths[0]);
}

}  // namespace
}  // namespace headrace
