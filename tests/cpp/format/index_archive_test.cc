#include "format/index_archive.h"

#include <gtest/gtest.h>

#include "format/tar_builder.h"

namespace headrace {
namespace {

Result<IndexedArchive> index_of(const std::string& archive, const KeyRule& rule = {}) {
  return index_archive(
      "s.tar", archive.size(),
      [&archive](uint64_t offset, MutableBytes into) {
        std::memcpy(into.data(), archive.data() + offset, into.size());
        return Status::success();
      },
      rule);
}

std::vector<std::string> keys(const ShardIndex& index) {
  std::vector<std::string> all;
  for (uint32_t s = 0; s < index.size(); ++s) all.emplace_back(index.key(s));
  return all;
}

TEST(IndexArchive, GroupsNeighboursWithOneKey) {
  const std::string archive = raw_member("a.jpg", "1") + raw_member("a.cls", "22") +
                              raw_member("b.jpg", "333") + raw_member("a.jpg", "4") + tar_end();
  const auto indexed = index_of(archive);
  ASSERT_TRUE(indexed.ok());
  const ShardIndex& index = indexed->builder.index();
  EXPECT_EQ(keys(index), (std::vector<std::string>{"a", "b", "a"}));
  EXPECT_EQ(index.fields(), (std::vector<std::string>{"jpg", "cls"}));
  EXPECT_EQ(index.payload_bytes(0), 3U);
  EXPECT_EQ(index.sample_begin(0), 0U);
  EXPECT_EQ(index.sample_end(0), 2048U);
  EXPECT_EQ(index.sample_begin(2), 3072U);
  EXPECT_EQ(index.sample_end(2), 4096U);
  EXPECT_EQ(index.find(0, 1)->offset, 1536U);
  EXPECT_EQ(index.find(0, 1)->size, 2U);
  EXPECT_EQ(index.find(1, 1), nullptr);
  EXPECT_EQ(index.field_number("cls"), 1);
  EXPECT_EQ(index.field_number("png"), -1);
  EXPECT_TRUE(index.is_archive());
  EXPECT_TRUE(indexed->warnings.empty());
}

TEST(IndexArchive, PassesOverWhatIsNoPartOfASampleWithoutEndingIt) {
  const std::string archive = raw_member("d/", "", '5') + raw_member("d/a.jpg", "1") +
                              raw_member("README", "text") + raw_member("d/a.lnk", "", '2') +
                              raw_member("d/a.hard", "", '1') + raw_member("__m__/x.json", "{}") +
                              raw_member("d/a.cls", "2") + tar_end();
  const auto indexed = index_of(archive);
  ASSERT_TRUE(indexed.ok());
  const ShardIndex& index = indexed->builder.index();
  ASSERT_EQ(keys(index), (std::vector<std::string>{"d/a"}));
  EXPECT_EQ(index.members(0).size(), 2U);
  EXPECT_EQ(index.sample_begin(0), 512U) << "the folder before it is not part of the sample";
  EXPECT_EQ(indexed->members, 7U);
  EXPECT_EQ(indexed->skipped, 5U);
}

TEST(IndexArchive, AFieldTwiceInOneSampleIsAnErrorThatNamesIt) {
  const auto twice = index_of(raw_member("a.jpg", "1") + raw_member("a.JPG", "2") + tar_end());
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().to_string(),
            "the field 'jpg' comes twice in the sample 'a' (shard s.tar, member a.JPG, at byte "
            "1024). Give the members different extensions or keys");
  EXPECT_TRUE(index_of(raw_member("a.jpg", "1") + raw_member("b.jpg", "2") + tar_end()).ok());
}

TEST(IndexArchive, ErrorsOfTheArchiveCarryTheShardsName) {
  const auto cut = index_of(raw_member("a.jpg", "1").substr(0, 600));
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().to_string(),
            "truncated inside the padding behind the data (shard s.tar, member a.jpg, at byte "
            "600). The object was cut off: copy or pack it again");
  const auto empty = index_of("");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().message,
            "an empty object: even an archive without members has 1024 bytes");
}

TEST(IndexArchive, ReportsAnEndThatIsOddAsWarnings) {
  const std::string members = raw_member("a.jpg", "1");
  const auto warnings = [](const std::string& archive) {
    const auto indexed = index_of(archive);
    EXPECT_TRUE(indexed.ok());
    std::vector<std::string> texts;
    for (const Error& warning : indexed->warnings) texts.push_back(warning.to_string());
    return texts;
  };
  EXPECT_TRUE(warnings(members + tar_end()).empty());
  EXPECT_EQ(
      warnings(members).at(0),
      "no end-of-archive blocks (shard s.tar, at byte 1024). It may have been cut off between "
      "two members: compare its size with the original");
  EXPECT_EQ(warnings(members + std::string(512, '\0')).at(0),
            "one end-of-archive block instead of two (shard s.tar, at byte 1024)");
  EXPECT_EQ(warnings(members + tar_end() + "more").at(0),
            "4 bytes behind the end of the archive were not read (shard s.tar, at byte 2048)");
  EXPECT_EQ(
      warnings(members + tar_end() + raw_member("b.jpg", "") + tar_end()).at(0),
      "several archives in one object: zero blocks lie between members (shard s.tar). All were "
      "read here; other readers stop at the first end");
}

TEST(IndexArchive, FollowsAnotherRule) {
  const std::string archive =
      raw_member("x/tiger.png", "1") + raw_member("x/tiger_es.ogg", "2") + tar_end();
  const KeyRule rule = KeyRule::parse("x/(?<key>[a-z]+)[_.](?<field>.*)").value();
  const auto indexed = index_of(archive, rule);
  ASSERT_TRUE(indexed.ok());
  EXPECT_EQ(keys(indexed->builder.index()), (std::vector<std::string>{"tiger"}));
  EXPECT_EQ(indexed->builder.index().fields(), (std::vector<std::string>{"png", "es.ogg"}));
}

TEST(IndexArchive, ErrorsOfTheRuleAreErrorsOfTheArchive) {
  const KeyRule rule = KeyRule::parse("(?<key>(?:a|aa)+)(?<field>[0-9])").value();
  const auto indexed = index_of(raw_member(std::string(60, 'a'), "1") + tar_end(), rule);
  ASSERT_FALSE(indexed.ok());
  EXPECT_EQ(indexed.error().code, Code::kUsage);
  EXPECT_EQ(indexed.error().origin.shard, "s.tar");
}

}  // namespace
}  // namespace headrace
