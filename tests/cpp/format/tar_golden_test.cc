// Archives by the real writers of the format (tests/data/tar, see ATTRIBUTION.md there), each with
// what other readers found in it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/digest.h"
#include "format/index_archive.h"

namespace headrace {
namespace {

using nlohmann::json;

std::string read_file(const std::string& name) {
  std::ifstream file(std::string(TEST_DATA) + "/tar/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string text_or_hex(const json& entry, const std::string& key) {
  if (entry.contains(key)) return entry[key];
  const std::string hex = entry[key + "_hex"];
  std::string text;
  for (size_t i = 0; i < hex.size(); i += 2)
    text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return text;
}

/// The error of each file that must, or by our choice may, be refused; the documented choices are
/// those whose `expect` begins with "either".
const std::map<std::string, std::string>& refused() {
  static const std::map<std::string, std::string> kRefused = {
      {"gnu-sparse-gnu.tar", "a sparse member: the bytes stored are not the file's bytes|s0.bin"},
      {"gnu-sparse-posix-0.0.tar",
       "a sparse member: the bytes stored are not the file's bytes|s0.bin"},
      {"gnu-sparse-posix-0.1.tar",
       "a sparse member: the bytes stored are not the file's bytes|s0.bin"},
      {"gnu-sparse-posix-1.0.tar", "a sparse member: the bytes stored are not the file's bytes|"},
      {"gnu-gnu-9GiB-member-cut.tar", "of 9663676423 bytes are there|big9g.bin"},
      {"gnu-posix-9GiB-member-cut.tar", "of 9663676423 bytes are there|big9g.bin"},
      {"gnu-duplicate-names.tar", "the field 'txt' comes twice in the sample 'u0'|u0.txt"},
      {"text-after-members.tar", "bad header checksum: |"},
      {"bad-checksum.tar", "bad header checksum: |"},
      {"cut-gnu-in-header.tar", "truncated inside a header|"},
      {"cut-posix-in-header.tar", "truncated inside a header|"},
      {"cut-ustar-in-header.tar", "truncated inside a header|"},
      {"cut-gnu-in-data.tar", "truncated inside the data: |s000002.jpg"},
      {"cut-posix-in-data.tar", "truncated inside the data: |s000002.jpg"},
      {"cut-ustar-in-data.tar", "truncated inside the data: |s000002.jpg"},
      {"cut-gnu-in-padding.tar", "truncated inside the padding behind the data|s000002.jpg"},
      {"cut-posix-in-padding.tar", "truncated inside the padding behind the data|s000002.jpg"},
      {"cut-ustar-in-padding.tar", "truncated inside the padding behind the data|s000002.jpg"},
      {"cut-posix-in-pax-header.tar", "truncated inside a pax header: |"},
      {"wrong-suffix-gz.tar", "not a tar archive: it begins like gzip|"},
      {"empty-file.tar", "an empty object: even an archive without members has 1024 bytes|"},
  };
  return kRefused;
}

const std::map<std::string, std::string>& warned() {
  static const std::map<std::string, std::string> kWarned = {
      {"cat-two-archives.tar", "several archives in one object: zero blocks lie between members"},
      {"no-end-blocks.tar", "no end-of-archive blocks"},
      {"one-end-block.tar", "one end-of-archive block instead of two"},
      {"cut-gnu-member-boundary.tar", "no end-of-archive blocks"},
      {"cut-posix-member-boundary.tar", "no end-of-archive blocks"},
      {"cut-ustar-member-boundary.tar", "no end-of-archive blocks"},
  };
  return kWarned;
}

Result<IndexedArchive> index_of(const std::string& name, const std::string& archive) {
  return index_archive(
      name, archive.size(),
      [&archive](uint64_t offset, MutableBytes into) {
        std::memcpy(into.data(), archive.data() + offset, into.size());
        return Status::success();
      },
      KeyRule());
}

const json& golden() {
  static const json kGolden = json::parse(read_file("golden.json"));
  return kGolden;
}

std::string without_slash(std::string name) {
  if (name.ends_with('/')) name.pop_back();
  return name;
}

class TarGolden : public testing::TestWithParam<std::string> {
 protected:
  static const json& entry() {
    for (const json& candidate : golden())
      if (candidate["file"] == GetParam()) return candidate;
    return golden().front();
  }

  void check_members(const std::string& archive) const {
    std::vector<TarMember> members;
    ASSERT_TRUE(for_each_member(as_bytes(archive), [&](const TarMember& member) {
                  members.push_back(member);
                  return Status::success();
                }).ok());
    const std::map<std::string, TarType> types = {{"file", TarType::kRegular},
                                                  {"dir", TarType::kDirectory},
                                                  {"symlink", TarType::kSymlink},
                                                  {"hardlink", TarType::kHardlink}};
    const json& expected = entry()["members"];
    ASSERT_EQ(members.size(), expected.size());
    for (size_t i = 0; i < members.size(); ++i) {
      EXPECT_EQ(without_slash(members[i].name), without_slash(text_or_hex(expected[i], "name")));
      EXPECT_EQ(members[i].type, types.at(expected[i]["type"])) << members[i].name;
      EXPECT_EQ(members[i].linkname, expected[i].value("link", ""));
      if (members[i].type != TarType::kRegular) continue;
      const ByteView data = as_bytes(archive).subspan(members[i].data_offset, members[i].size);
      EXPECT_EQ(sha256_hex(data), expected[i]["sha256"]) << members[i].name;
    }
  }

  void check_samples(const ShardIndex& index, const std::string& archive) const {
    const json& expected = entry()["samples"];
    ASSERT_EQ(index.size(), expected.size());
    for (uint32_t s = 0; s < index.size(); ++s) {
      EXPECT_EQ(index.key(s), text_or_hex(expected[s], "key"));
      EXPECT_EQ(index.members(s).size(), expected[s]["fields"].size());
      for (const IndexMember& member : index.members(s)) {
        const ByteView data = as_bytes(archive).subspan(member.offset, member.size);
        EXPECT_EQ(sha256_hex(data), expected[s]["fields"][index.fields()[member.field]]);
      }
    }
  }
};

TEST_P(TarGolden, IsReadToExactlyItsContentsOrRefusedWithTheReason) {
  const std::string name = GetParam();
  const std::string expect = entry()["expect"];
  const std::string archive = read_file(name);
  const auto indexed = index_of(name, archive);

  if (const auto row = refused().find(name); row != refused().end()) {
    EXPECT_NE(expect.substr(0, 2), "ok");
    ASSERT_FALSE(indexed.ok());
    const size_t bar = row->second.find('|');
    const Error& error = indexed.error();
    EXPECT_NE(error.message.find(row->second.substr(0, bar)), std::string::npos)
        << error.to_string();
    EXPECT_NE(error.origin.member.find(row->second.substr(bar + 1)), std::string::npos);
    EXPECT_EQ(error.origin.shard, name);
    EXPECT_NE(error.origin.offset, Origin::kNoOffset);
    return;
  }
  EXPECT_NE(expect.substr(0, 6), "refuse");
  ASSERT_TRUE(indexed.ok()) << indexed.error().to_string();
  check_samples(indexed->builder.index(), archive);
  if (entry().contains("members") && !expect.starts_with("ok: a cut")) check_members(archive);

  if (const auto row = warned().find(name); row != warned().end()) {
    ASSERT_EQ(indexed->warnings.size(), 1U);
    EXPECT_EQ(indexed->warnings[0].message, row->second);
  } else if (name == "garbage-after-end.tar") {
    ASSERT_EQ(indexed->warnings.size(), 1U);
    EXPECT_NE(indexed->warnings[0].message.find("behind the end of the archive"),
              std::string::npos);
  } else {
    EXPECT_TRUE(indexed->warnings.empty());
  }
}

TEST_P(TarGolden, HasTheSameIndexAfterEncodingAndDecoding) {
  const std::string archive = read_file(GetParam());
  const auto indexed = index_of("shard", archive);
  if (!indexed.ok()) return;
  const ShardIndex& before = indexed->builder.index();
  const auto after = ShardIndex::decode(as_bytes(indexed->builder.encode()), archive.size(), {});
  ASSERT_TRUE(after.ok()) << after.error().to_string();
  ASSERT_EQ(after->size(), before.size());
  check_samples(*after, archive);
  for (uint32_t s = 0; s < before.size(); ++s) {
    EXPECT_EQ(after->sample_begin(s), before.sample_begin(s));
    EXPECT_EQ(after->sample_end(s), before.sample_end(s));
  }
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const json& entry : golden()) names.push_back(entry["file"]);
  return names;
}

INSTANTIATE_TEST_SUITE_P(File, TarGolden, testing::ValuesIn(files()), [](const auto& row) {
  std::string name = row.param;
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace headrace
