// A data set opened through its manifest: the one in tests/data, which the first version wrote.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "headrace/dataset.h"
#include "plan/manifest.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPacked = TEST_DATA "/dataset/packed";

std::shared_ptr<const Dataset> open_or_fail(const std::string& location) {
  auto set = Dataset::open({location});
  EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().to_string());
  return set.ok() ? *set : nullptr;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Number n of the ten: "cat/0" to "cat/4", "dog/0" to "dog/4".
std::string key_of(uint64_t n) { return (n < 5 ? "cat/" : "dog/") + std::to_string(n % 5); }

void expect_sample(const Dataset& set, uint64_t n) {
  const auto sample = set.sample(set.locate(n));
  ASSERT_TRUE(sample.ok()) << sample.error().to_string();
  std::string words = key_of(n);
  words[3] = ' ';
  EXPECT_EQ(sample->key(), key_of(n));
  EXPECT_EQ(as_text(sample->find("txt").value()), words);
  EXPECT_EQ(as_text(sample->find("cls").value()), n < 5 ? "0" : "1");
  EXPECT_EQ(sample->find("bin").has_value(), n == 3);
}

TEST(PackedDataset, OpensByFolderAndByManifestWithAllThatTheManifestSays) {
  const std::string folder = kPacked;
  for (const std::string& location : {folder, folder + "/headrace.json"}) {
    const auto set = open_or_fail(location);
    EXPECT_TRUE(set->has_manifest());
    EXPECT_EQ(set->size(), 10u);
    EXPECT_EQ(set->shards(), 3u);
    EXPECT_EQ(set->fingerprint(),
              "90458c9849b25b47c07600104280f8da62dba279db52a2465ca0ad94a53d5947");
    EXPECT_EQ(set->manifest().classes, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(set->table().samples, (std::vector<uint32_t>{4, 4, 2}));
    for (uint64_t n = 0; n < 10; ++n) expect_sample(*set, n);
  }
}

TEST(PackedDataset, FindsEveryKeyInTheKeyTable) {
  const auto set = open_or_fail(kPacked);
  for (uint64_t n = 0; n < 10; ++n)
    EXPECT_EQ(set->find(key_of(n)).value(), std::vector<SampleId>{set->locate(n)});
  EXPECT_TRUE(set->find("cat/5").value().empty());
  EXPECT_TRUE(set->find("").value().empty());
}

TEST(PackedDataset, ManyThreadsReadAtOnce) {
  const auto set = open_or_fail(kPacked);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (uint64_t n = 0; n < 10; ++n) expect_sample(*set, n);
    });
}

class Copied : public ::testing::Test {
 protected:
  Copied() { fs::copy(kPacked, folder_.path(), fs::copy_options::recursive); }
  fs::path table(const std::string& name) const {
    for (const auto& entry : fs::directory_iterator(folder_ / "_headrace"))
      if (entry.path().filename().string().starts_with(name)) return entry.path();
    return {};
  }
  TemporaryFolder folder_;
};

TEST_F(Copied, AMissingShardIsNotedWhenASampleOfItIsRead) {
  fs::remove(folder_ / "shard-000001.tar");
  const auto set = open_or_fail(folder_.path());
  EXPECT_EQ(set->size(), 10u);
  expect_sample(*set, 0);
  const auto sample = set->sample(set->locate(4));
  ASSERT_FALSE(sample.ok());
  EXPECT_EQ(sample.error().code, Code::kNotFound);
  EXPECT_NE(sample.error().to_string().find(folder_ / "shard-000001.tar"), std::string::npos);
}

TEST_F(Copied, ADamagedIndexSectionIsAnErrorThatNamesIt) {
  const fs::path path = table("index-");
  std::string bytes = contents(path.string());
  bytes[bytes.size() / 2] ^= 1;
  write_file(path.string(), bytes);
  const auto set = open_or_fail(folder_.path());
  bool found = false;
  for (uint32_t shard = 0; shard < set->shards(); ++shard) {
    const auto index = set->index(shard);
    if (index.ok()) continue;
    found = true;
    EXPECT_EQ(index.error().code, Code::kCorrupt);
    EXPECT_EQ(index.error().origin.shard, path.string());
  }
  EXPECT_TRUE(found);
}

TEST_F(Copied, ATableThatIsNotTheManifestsIsRefused) {
  const fs::path path = table("shards-");
  std::string bytes = contents(path.string());
  bytes.back() ^= 1;
  write_file(path.string(), bytes);
  const auto set = Dataset::open({folder_.path()});
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code, Code::kCorrupt);
  EXPECT_EQ(set.error().origin.shard, path.string());
}

TEST_F(Copied, TheManifestMayLieElsewhere) {
  const TemporaryFolder shards;
  for (const char* name : {"shard-000000.tar", "shard-000001.tar", "shard-000002.tar"})
    fs::rename(folder_ / name, shards / name);
  auto manifest = decode_manifest(as_bytes(contents(folder_ / kManifestName)), "").value();
  manifest.base = shards.path();
  write_file(folder_ / kManifestName, encode_manifest(manifest));
  const auto set = open_or_fail(folder_.path());
  for (uint64_t n = 0; n < 10; ++n) expect_sample(*set, n);
  EXPECT_EQ(set->shard_name(2).value(), shards / "shard-000002.tar");
}

}  // namespace
}  // namespace headrace
