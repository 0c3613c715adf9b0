#include "format/column.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace {
namespace {

std::vector<uint64_t> round_trip(const std::vector<uint64_t>& values, size_t bytes) {
  std::string encoded;
  append_column(encoded, values);
  EXPECT_EQ(encoded.size(), bytes);
  ByteView left = as_bytes(encoded);
  const auto column = Column64::take(left, values.size());
  EXPECT_TRUE(column && left.empty());
  std::vector<uint64_t> decoded;
  for (size_t i = 0; i < values.size(); ++i) decoded.push_back((*column)[i]);
  return decoded;
}

TEST(Column, TakesAsManyBytesAValueAsTheSpreadNeeds) {
  const uint64_t big = uint64_t{1} << 40;
  const std::vector<std::pair<std::vector<uint64_t>, size_t>> rows = {
      {{}, 9},
      {{big, big, big}, 9},
      {{big, big + 255}, 9 + 2},
      {{big, big + 256}, 9 + 4},
      {{big + 65535, big}, 9 + 4},
      {{big, big + 65536}, 9 + 8},
      {{0, 0xffffffff}, 9 + 8},
      {{0, 0x100000000}, 9 + 16},
      {{~uint64_t{0}, 0, 1}, 9 + 3},  // -1, 0, 1
      {{uint64_t{1} << 63, ~uint64_t{0} >> 1}, 9 + 16},
  };
  for (const auto& [values, bytes] : rows) EXPECT_EQ(round_trip(values, bytes), values);
}

TEST(Column, ThatClaimsMoreThanIsThereIsRefused) {
  std::string encoded;
  append_column(encoded, std::vector<uint64_t>{1, 2, 3});
  ASSERT_EQ(encoded.size(), 12U);
  for (size_t cut = 0; cut < encoded.size(); ++cut) {
    ByteView left = as_bytes(encoded).first(cut);
    EXPECT_FALSE(Column64::take(left, 3)) << cut;
  }
  ByteView left = as_bytes(encoded);
  EXPECT_FALSE(Column64::take(left, ~uint64_t{0}));
  for (const char width : {'\3', '\5', '\7', '\11', '\20'}) {
    encoded[8] = width;
    left = as_bytes(encoded);
    EXPECT_FALSE(Column64::take(left, 1)) << int{width};
  }
}

TEST(Column, OfNoWidthIsRefusedWhereEachValueMustHaveAByte) {
  std::string encoded;
  append_column(encoded, std::vector<uint64_t>{7, 7}, 0);
  ByteView left = as_bytes(encoded);
  EXPECT_FALSE(Column64::take(left, 2, 1));
  encoded.clear();
  append_column(encoded, std::vector<uint64_t>{7, 7}, 1);
  EXPECT_EQ(encoded.size(), 11U);
  left = as_bytes(encoded);
  EXPECT_TRUE(Column64::take(left, 2, 1));
}

}  // namespace
}  // namespace headrace
