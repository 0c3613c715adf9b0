// The pure parts of reshaping: orders of names, key maps, rules of fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "job/in_order.h"
#include "job/key_map.h"
#include "job/reshape/fields.h"
#include "job/reshape/order.h"
#include "job/reshape/order_bytes.h"
#include "job/reshape/spill_sort.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

TEST(OrderBytes, NaturalOnesCompareNumbersByValue) {
  const std::vector<std::string> sorted{"",
                                        "01",
                                        "1",
                                        "2",
                                        "10",
                                        "a",
                                        "a1b",
                                        "a02",
                                        "a2",
                                        "a2b",
                                        "a10",
                                        "a10b2",
                                        "b",
                                        "b99999999999999999999",
                                        "b100000000000000000000"};
  std::string last;
  for (const std::string& text : sorted) {
    std::string bytes;
    append_natural(bytes, text);
    EXPECT_LT(last, bytes) << text;
    last = bytes;
  }
}

template <typename Value>
void expect_same_order(const std::vector<Value>& sorted) {
  std::string last;
  for (const Value& value : sorted) {
    std::string bytes;
    append_ordered(bytes, value);
    bytes += "behind";
    EXPECT_LT(last, bytes) << value;
    last = bytes;
  }
}

TEST(OrderBytes, CompareAsWhatTheyStandFor) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_same_order<double>({-kInfinity, -1e300, -1.5, -1e-310, 0.0, 1e-310, 2.5, kInfinity});
  expect_same_order<int64_t>({INT64_MIN, -256, -1, 0, 1, 255, 256, INT64_MAX});
  using namespace std::string_view_literals;
  expect_same_order<std::string_view>({""sv, "\0"sv, "\0\0"sv, "\0\1"sv, "\0\xff"sv, "\1"sv, "a"sv,
                                       "a\0"sv, "a\0b"sv, "ab"sv, "\xff"sv});
  std::string minus;
  std::string plus;
  append_ordered(minus, -0.0);
  append_ordered(plus, 0.0);
  EXPECT_EQ(minus, plus);
}

TEST(SpillSort, SortsMoreThanItsMemory) {
  const TemporaryFolder folder;
  for (const size_t count : {0, 1000, 400'000}) {
    SpillSort sorted(folder.path(), 1);  // a megabyte, which is the least
    std::vector<std::string> wanted;
    for (size_t i = 0; i < count; ++i) {
      wanted.push_back(std::to_string(i * 2654435761 % 1'000'003));
      if (i % 7 == 0) wanted.back() += std::string(i % 300, 'x');
      ASSERT_TRUE(sorted.add(wanted.back()).ok());
    }
    std::ranges::sort(wanted);
    size_t at = 0;
    ASSERT_TRUE(sorted
                    .each([&](std::string_view text) -> Status {
                      EXPECT_EQ(text, wanted.at(at));
                      ++at;
                      return {};
                    })
                    .ok());
    EXPECT_EQ(at, count);
  }
  SpillSort little(folder.path(), 1);
  EXPECT_EQ(little.add(std::string(2 << 20, 'x')).error().code, Code::kUsage);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(KeyMap, WholeKeysGoBeforeExpressionsInTheirOrder) {
  const auto map = KeyMap::parse(R"(/* ours */ {"a-%d.tar": ["^x", "k7"], // first
                                     "b-%d.tar": ["x1", "x.*"]})");
  ASSERT_TRUE(map.ok()) << map.error().message;
  EXPECT_EQ(map->templates(), (std::vector<std::string>{"a-%d.tar", "b-%d.tar"}));
  EXPECT_EQ(map->find("k7"), 0U);
  EXPECT_EQ(map->find("x1"), 1U);
  EXPECT_EQ(map->find("x2"), 0U);
  EXPECT_EQ(map->find("ax"), 1U);
  EXPECT_EQ(map->find("k77"), std::nullopt);
  const auto lines = KeyMap::parse("k7\ta-%d.tar\n^x\tb-%d.tar\n");
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->find("xyz"), 1U);
}

TEST(KeyMap, SaysWhatItDoesNotUnderstand) {
  for (const char* text : {"{", "[]\tx", "only one column", "{\"a\": 1}", "{\"a\": [2]}", "(\ta"}) {
    const auto map = KeyMap::parse(text);
    ASSERT_FALSE(map.ok()) << text;
    EXPECT_EQ(map.error().code, Code::kUsage) << text;
  }
}

TEST(FieldRules, AreReadAndWrittenAgain) {
  const auto rules = parse_field_rules("jpg=jpg;jpeg,cls,txt=caption");
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(format_field_rules(*rules), "jpg=jpg;jpeg,cls,txt=caption");
  FieldMap map{.rules = *rules};
  EXPECT_EQ(map.output({"caption", "jpeg", "png"}),
            (std::vector<std::string>{"cls", "jpg", "png", "txt"}));
  for (const char* bad : {"", "a,,b", "a=", "=b", "a=b;", "a,a", "a/b"})
    EXPECT_FALSE(parse_field_rules(bad).ok()) << bad;
}

TEST(SampleOrder, EveryKindHoldsEachSampleOnce) {
  for (const SampleOrder& order :
       {SampleOrder::identity(1000), SampleOrder::permuted(1000, 7), SampleOrder::listed([] {
          std::vector<uint64_t> rows(1000);
          for (size_t i = 0; i < rows.size(); ++i) rows[i] = rows.size() - 1 - i;
          return Rows(std::move(rows));
        }())}) {
    std::vector<bool> seen(1000);
    for (uint64_t at = 0; at < order.size(); ++at) seen[order.at(at)] = true;
    EXPECT_EQ(std::ranges::count(seen, true), 1000);
  }
  const auto part = SampleOrder::part(10, 4, Rows({7, kNoSample, 1, 2}), 2);
  EXPECT_EQ(part.at(4, 0), 7U);
  EXPECT_EQ(part.at(5, 1), 2U);
}

TEST(InOrder, WritesInOrderAndDropsWhatWaits) {
  InOrder<int> queue;
  std::vector<int> written;
  const auto write = [&](int value) -> Status {
    written.push_back(value);
    return {};
  };
  for (const int value : {2, 0, 1, 4})
    EXPECT_TRUE(*queue.add(static_cast<uint64_t>(value), int{value}, write));
  EXPECT_EQ(written, (std::vector{0, 1, 2}));
  std::vector<int> freed;
  queue.drop([&](int value) { freed.push_back(value); });
  EXPECT_EQ(freed, std::vector{4});
  EXPECT_FALSE(*queue.add(3, 3, write));
  EXPECT_EQ(written.size(), 3U);
}

}  // namespace
}  // namespace headrace
