// Compressed archives by the real writers of the formats (tests/data/containers, see ATTRIBUTION.md
// there): each is read to exactly its contents, or refused with the reason.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/digest.h"
#include "dataset/containers.h"
#include "dataset/decoded_source.h"

namespace headrace {
namespace {

using nlohmann::json;

const std::string kFolder = std::string(TEST_DATA) + "/containers";

const json& golden() {
  static const json kGolden = json::parse(std::ifstream(kFolder + "/golden.json"));
  return kGolden;
}

/// The error of each file that must, or by our choice may, be refused.
const std::map<std::string, std::string>& refused() {
  static const std::map<std::string, std::string> kRefused = {
      {"gzip-trailing-garbage.tar.gz", "bytes that are no gzip follow the gzip data"},
      {"lz4-legacy.tar.lz4", "legacy frames are not read"},
      {"zstd-long31.tar.zst", "Frame requires too much memory for decoding"},
      {"cut-gz.tar.gz", "cut off: its end is missing"},
      {"cut-zst.tar.zst", "cut off: its end is missing"},
      {"cut-lz4.tar.lz4", "cut off: its end is missing"},
      {"flip-gz.tar.gz", "the gzip data is damaged"},
      {"flip-zst.tar.zst", "the zstd data is damaged"},
      {"flip-lz4.tar.lz4", "the lz4 data is damaged"},
      {"zstd-dictionary.tar.zst", "Dictionary mismatch"},
      {"cut-tail.zip", "there is no end of a zip directory"},
      {"cut-half.zip", "there is no end of a zip directory"},
      {"infozip-encrypted.zip", "the member is encrypted"},
      {"7zip-aes256.zip", "the member is encrypted"},
      {"pyzipper-aes.zip", "the member is encrypted"},
      {"infozip-bzip2.zip", "packed by method 12,"},
      {"python-bzip2.zip", "packed by method 12,"},
      {"python-lzma.zip", "packed by method 14,"},
      {"7zip-lzma.zip", "packed by method 14,"},
      {"7zip-deflate64.zip", "packed by method 9,"},
      {"7zip-ppmd.zip", "packed by method 98,"},
      {"python-zstd.zip", "packed by method 93,"},
  };
  return kRefused;
}

/// The directory is whole, the contents are not: reading says so.
bool is_damaged_inside(const std::string& name) {
  return name == "flip.zip" || name == "stored-bad-crc.zip";
}

std::string key_of(const json& sample) {
  if (sample.contains("key")) return sample["key"];
  const std::string hex = sample["key_hex"];
  std::string key;
  for (size_t i = 0; i < hex.size(); i += 2)
    key += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return key;
}

class ContainerGolden : public testing::TestWithParam<std::string> {
 protected:
  ContainerGolden() {
    for (const json& candidate : golden())
      if (candidate["file"] == GetParam()) entry_ = candidate;
    auto store = open_store(kFolder);
    object_ = *(*store)->open(GetParam());
  }

  Result<IndexedArchive> index() const {
    return index_container(
        object_, *container_of(GetParam()), GetParam(), KeyRule(),
        [this](uint64_t offset, MutableBytes into) { return object_->read_at(offset, into); });
  }

  void check_samples(const ShardIndex& index) const {
    const json& expected = entry_["samples"];
    ASSERT_EQ(index.size(), expected.size());
    if (index.size() == 0) return;
    const DecodedSource bytes(object_, index.frames(), DecodedFrames::make(), 0);
    for (uint32_t s = 0; s < index.size(); ++s) {
      EXPECT_EQ(index.key(s), key_of(expected[s]));
      ASSERT_EQ(index.members(s).size(), expected[s]["fields"].size());
      for (const IndexMember& member : index.members(s)) {
        std::string data(member.size, '\0');
        ASSERT_TRUE(bytes.read_at(member.offset, as_writable_bytes(data)).ok());
        EXPECT_EQ(sha256_hex(as_bytes(data)), expected[s]["fields"][index.fields()[member.field]]);
      }
    }
  }

  json entry_;
  std::shared_ptr<const ByteSource> object_;
};

TEST_P(ContainerGolden, IsReadToExactlyItsContentsOrRefusedWithTheReason) {
  const std::string expect = entry_["expect"];
  auto indexed = index();
  if (const auto row = refused().find(GetParam()); row != refused().end()) {
    EXPECT_NE(expect.substr(0, 2), "ok");
    ASSERT_FALSE(indexed.ok());
    const Error& error = indexed.error();
    EXPECT_NE(error.message.find(row->second), std::string::npos) << error.to_string();
    EXPECT_TRUE(error.origin.shard.ends_with(GetParam()));
    EXPECT_NE(error.origin.offset, Origin::kNoOffset);
    return;
  }
  if (is_damaged_inside(GetParam())) return;
  EXPECT_NE(expect.substr(0, 6), "refuse");
  ASSERT_TRUE(indexed.ok()) << indexed.error().to_string();
  check_samples(indexed->builder.index());
}

TEST_P(ContainerGolden, SaysWhatIsDamagedInside) {
  if (!is_damaged_inside(GetParam())) return;
  auto indexed = index();
  ASSERT_TRUE(indexed.ok());
  const auto& frames = indexed->builder.index().frames();
  const DecodedSource bytes(object_, frames, DecodedFrames::make(), 0);
  std::string all(bytes.size(), '\0');
  const Status read = bytes.read_at(0, as_writable_bytes(all));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kCorrupt);
}

TEST_P(ContainerGolden, HasTheSameIndexAfterEncodingAndDecoding) {
  auto indexed = index();
  if (!indexed.ok() || is_damaged_inside(GetParam())) return;
  const auto after = ShardIndex::decode(as_bytes(indexed->builder.encode()), object_->size(), {});
  ASSERT_TRUE(after.ok()) << after.error().to_string();
  if (after->size() == 0) return;
  ASSERT_EQ(after->frames()->frames().size(), indexed->builder.index().frames()->frames().size());
  check_samples(*after);
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const json& entry : golden()) names.push_back(entry["file"]);
  return names;
}

INSTANTIATE_TEST_SUITE_P(File, ContainerGolden, testing::ValuesIn(files()), [](const auto& row) {
  std::string name = row.param;
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace headrace
