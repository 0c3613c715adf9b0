#include "format/key_rule.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace headrace {
namespace {

/// "key|field", "skipped" or the error.
std::string split(const KeyRule& rule, std::string_view path) {
  KeyField out;
  const auto done = rule.split(path, out);
  if (!done.ok()) return done.error().to_string();
  return *done ? out.key + "|" + out.field : "skipped";
}

std::string split(std::string_view rule, std::string_view path) {
  const auto parsed = KeyRule::parse(rule);
  return parsed.ok() ? split(*parsed, path) : parsed.error().to_string();
}

struct Row {
  const char* path;
  const char* result;
};

TEST(KeyRule, OfWebdatasetSplitsAsTheLibraryDoesToTheOddities) {
  const std::vector<Row> rows = {
      {"a.seg.jpg", "a|seg.jpg"},
      {"d.v1/a.jpg", "d.v1/a|jpg"},
      {"./x/y.JPG", "./x/y|jpg"},
      {"/abs/a.jpg", "/abs/a|jpg"},
      {"Track 2.0 (Clean).mp3", "Track 2|0 (clean).mp3"},
      {"foo.", "foo|"},
      {"a..jpg", "a|.jpg"},
      {".hidden.txt", "skipped"},
      {".jpg", "skipped"},
      {"..a", "skipped"},
      {"._a.jpg", "skipped"},
      {"d/.hidden.txt", "d/|hidden.txt"},
      {"d/._a.jpg", "d/|_a.jpg"},
      {"b.x/d/.hidden", "b.x/d/|hidden"},
      {"d.x/.hidden", "skipped"},
      {"./.hidden", "skipped"},
      {"/.hidden", "/|hidden"},
      {"a", "skipped"},
      {"d.x/a", "skipped"},
      {"", "skipped"},
      {"d/", "skipped"},
      {".", "skipped"},
      {"..", "skipped"},
      {"__meta__/i.json", "skipped"},
      {"__index__", "skipped"},
      {"____/a.txt", "skipped"},
      {"___/a.txt", "___/a|txt"},
      {"__a__b/c.txt", "__a__b/c|txt"},
      {"a/__m__.txt", "a/__m__|txt"},
      {"__m__.txt", "__m__|txt"},
      {"caf\xe9.TXT", "caf\xe9|txt"},
      {"a.\xc3\x89", "a|\xc3\x89"},
  };
  for (const Row& row : rows) EXPECT_EQ(split("webdataset", row.path), row.result) << row.path;
}

TEST(KeyRule, OfBaseDropsFolders) {
  const std::vector<Row> rows = {
      {"a/d.v1/Cat.seg.JPG", "Cat|seg.jpg"},
      {"cat.jpg", "cat|jpg"},
      {"d/.hid.txt", "skipped"},
      {"d/README", "skipped"},
      {"foo.", "foo|"},
      {"__m__/a.txt", "skipped"},
  };
  for (const Row& row : rows) EXPECT_EQ(split("base", row.path), row.result) << row.path;
}

TEST(KeyRule, OfPathCutsTheLastExtensionOnly) {
  const std::vector<Row> rows = {
      {"a/d.v1/Cat.seg.JPG", "a/d.v1/Cat.seg|jpg"},
      {"note.tar.gz", "note.tar|gz"},
      {"d.x/a", "skipped"},
      {"d/.hidden", "skipped"},
      {"d/.hidden.txt", "d/.hidden|txt"},
      {"foo.", "foo|"},
  };
  for (const Row& row : rows) EXPECT_EQ(split("path", row.path), row.result) << row.path;
}

TEST(KeyRule, OfFlatJoinsFoldersIntoTheKey) {
  const std::vector<Row> rows = {
      {"a/d.v1/Cat.seg.JPG", "a_d.v1_Cat|seg.jpg"},
      {"./a/b.txt", "a_b|txt"},
      {"/a/b.txt", "a_b|txt"},
      {"././/a.txt", "a|txt"},
      {"d/.hidden", "skipped"},
      {"a/b", "skipped"},
  };
  for (const Row& row : rows) EXPECT_EQ(split("flat", row.path), row.result) << row.path;
}

TEST(KeyRule, OfARegexMustMatchTheWholePath) {
  const char* stamps = R"((?<key>(?:.*/)?[^/_.]+)(?:_desc|)[_.](?<field>[^/]*))";
  EXPECT_EQ(split("(?<key>[a-z]+)_(?<field>.*)", "tiger_desc_es.ogg"), "tiger|desc_es.ogg");
  EXPECT_EQ(split("(?P<key>[a-z]+)_(?P<field>.*)", "tiger_desc_es.OGG"), "tiger|desc_es.ogg");
  EXPECT_EQ(split("(?<key>[a-z]+)_(?<field>.*)", "9tiger_desc"), "skipped");
  EXPECT_EQ(split("(?<key>[a-z]+)_(?<field>[a-z]+)", "tiger_desc.ogg"), "skipped");
  EXPECT_EQ(split(stamps, "animals/tiger_desc_es.ogg"), "animals/tiger|es.ogg");
  EXPECT_EQ(split(stamps, "animals/tiger.png"), "animals/tiger|png");
  EXPECT_EQ(split("(?<key>x*)(?<field>.*)", "abc"), "skipped") << "an empty key";
  EXPECT_EQ(split("(?<key>a)|(?<field>b)", "a"), "skipped") << "a field that took no part";
  EXPECT_EQ(split("(?<key>caf.)[.](?<field>txt)", "caf\xe9.txt"), "caf\xe9|txt");
  EXPECT_EQ(split("(?<key>__m__)/(?<field>.*)", "__m__/a"), "__m__|a");
}

TEST(KeyRule, ThatIsNoneIsAUsageErrorThatSaysWhy) {
  EXPECT_EQ(split("bse", "a"),
            "'bse' is no key rule. Use webdataset, base, path, flat or a regular expression with "
            "the groups key and field, as (?<key>[a-z]+)_(?<field>.*)");
  EXPECT_EQ(split("(a", "a"),
            "the key pattern '(a' is wrong at character 2: missing closing parenthesis");
  EXPECT_EQ(split("(?<key>a)", "a"),
            "the key pattern '(?<key>a)' has no group named 'field'. Write it as "
            "(?<key>...)_(?<field>...)");
  EXPECT_EQ(split("(?<field>a)", "a"),
            "the key pattern '(?<field>a)' has no group named 'key'. Write it as "
            "(?<key>...)_(?<field>...)");
  EXPECT_EQ(split(std::string(5000, '('), "a"), "the key pattern is longer than 4096 bytes");
  EXPECT_EQ(KeyRule::parse("bse").error().code, Code::kUsage);
}

TEST(KeyRule, WithAHostilePatternGivesUpInsteadOfHanging) {
  const std::string many(200, 'a');
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"(?<key>(a+)+)(?<field>[0-9])", many + "!"},
      {"(?<key>(?:a|aa)+)(?<field>[0-9])", many + "!"},
      {"(?<key>(.*)*)(?<field>x)y", many + "xyz"},
      {"(?<key>(?:a?){40}a{40})(?<field>[0-9])", many},
  };
  for (const auto& [pattern, path] : rows)
    EXPECT_TRUE(split(pattern, path).starts_with("the key pattern gave up on a path: match limit"))
        << split(pattern, path);
}

TEST(KeyRule, MayBeUsedByManyThreadsAtOnce) {
  const KeyRule rule = KeyRule::parse("(?<key>.*)_(?<field>[a-z]+)").value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&rule, t] {
      KeyField out;
      for (int i = 0; i < 2000; ++i) {
        const std::string key = std::to_string(t) + "_" + std::to_string(i);
        ASSERT_TRUE(*rule.split(key + "_txt", out));
        ASSERT_EQ(out.key, key);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(KeyRule, KeepsItsTextForManifests) {
  EXPECT_EQ(KeyRule().text(), "webdataset");
  EXPECT_EQ(KeyRule::parse("flat")->text(), "flat");
}

}  // namespace
}  // namespace headrace
