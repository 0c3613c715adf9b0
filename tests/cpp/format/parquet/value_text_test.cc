// Stored values as text.
#include "format/parquet/value_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/little_endian.h"

namespace headrace::parquet {
namespace {

template <typename T>
std::string stored(T value) {
  std::string bytes;
  append_le(bytes, value);
  return bytes;
}

struct Row {
  ValueType type;
  std::string value;
  std::string text;
  std::string json;
};

ValueType of(Physical physical, Meaning meaning, uint32_t width, int digits = 0, bool utc = false) {
  return {.physical = physical, .meaning = meaning, .width = width, .digits = digits, .utc = utc};
}

const ValueType kDate = of(Physical::kInt32, Meaning::kDate, 4);
const ValueType kFloat = of(Physical::kFloat, Meaning::kFloat, 4);
const ValueType kHalf = of(Physical::kFixed, Meaning::kHalf, 2);
const ValueType kInteger = of(Physical::kInt64, Meaning::kSigned, 8);
const ValueType kMicros = of(Physical::kInt64, Meaning::kTimestamp, 8, 6, true);
const ValueType kOld = of(Physical::kInt96, Meaning::kTimestamp, 12, 9);

std::string old_time(int64_t nanoseconds, int32_t day) { return stored(nanoseconds) + stored(day); }

TEST(ParquetValueText, IsWhatTheDocumentationSays) {
  const auto least = std::numeric_limits<int64_t>::min();
  const Row rows[] = {
      {of(Physical::kByteArray, Meaning::kBytes, 0), "\xff", "\xff", "\"/w==\""},
      {of(Physical::kByteArray, Meaning::kText, 0), "a\"\\\n", "a\"\\\n", "\"a\\\"\\\\\\u000a\""},
      {of(Physical::kBoolean, Meaning::kBoolean, 0), "\x01", "1", "true"},
      {kInteger, stored(least), "-9223372036854775808", "-9223372036854775808"},
      {of(Physical::kInt32, Meaning::kUnsigned, 4), stored(~uint32_t{0}), "4294967295",
       "4294967295"},
      {kFloat, stored(0.1F), "0.1", "0.1"},
      {kFloat, stored(3.0F), "3.0", "3.0"},
      {kFloat, stored(1e30F), "1e+30", "1e+30"},
      {kFloat, stored(NAN), "NaN", "NaN"},
      {kFloat, stored(-INFINITY), "-Infinity", "-Infinity"},
      {kHalf, stored(uint16_t{0x3555}), "0.33325195", "0.33325195"},
      {kHalf, stored(uint16_t{0x8001}), "-5.9604645e-08", "-5.9604645e-08"},
      {kHalf, stored(uint16_t{0x7c00}), "Infinity", "Infinity"},
      {of(Physical::kInt32, Meaning::kDecimal, 4, 2), stored(int32_t{-5}), "-0.05", "-0.05"},
      {of(Physical::kInt64, Meaning::kDecimal, 8, 0), stored(int64_t{120}), "120", "120"},
      {of(Physical::kFixed, Meaning::kDecimal, 2, 1), "\xff\x85", "-12.3", "-12.3"},
      {of(Physical::kByteArray, Meaning::kDecimal, 0, 3), "", "0.000", "0.000"},
      {kDate, stored(int32_t{-1}), "1969-12-31", "\"1969-12-31\""},
      {kDate, stored(std::numeric_limits<int32_t>::min()), "-2147483648", "\"-2147483648\""},
      {of(Physical::kInt32, Meaning::kTime, 4, 3), stored(int32_t{3'599'001}), "00:59:59.001",
       "\"00:59:59.001\""},
      {of(Physical::kInt32, Meaning::kTime, 4, 3), stored(int32_t{-1}), "-1", "\"-1\""},
      {kMicros, stored(int64_t{-1}), "1969-12-31T23:59:59.999999Z",
       "\"1969-12-31T23:59:59.999999Z\""},
      {kMicros, stored(least), "-106751992T19:59:05.224192Z", "\"-106751992T19:59:05.224192Z\""},
      {kOld, old_time(1, 2'440'588), "1970-01-01T00:00:00.000000001",
       "\"1970-01-01T00:00:00.000000001\""},
      {kOld, old_time(-1, 2'440'588), "1969-12-31T23:59:59.999999999",
       "\"1969-12-31T23:59:59.999999999\""},
      {of(Physical::kFixed, Meaning::kUuid, 16), std::string(15, '\x1f') + "\xa0",
       "1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1fa0", "\"1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1fa0\""},
  };
  for (const Row& row : rows) {
    std::string text;
    append_text(row.type, as_bytes(row.value), text);
    EXPECT_EQ(text, row.text);
    std::string json;
    append_json(row.type, as_bytes(row.value), json);
    EXPECT_EQ(json, row.json);
  }
}

}  // namespace
}  // namespace headrace::parquet
