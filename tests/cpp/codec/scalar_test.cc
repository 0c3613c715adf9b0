#include <cmath>
#include <cstring>
#include <limits>

#include "codec/support.h"

namespace headrace {
namespace {

/// The number in `text` as a T, or the error's message.
template <typename T>
std::pair<T, std::string> number(const FieldKind& kind, std::string_view text) {
  const auto row = decode(*decoder_of(kind), text);
  if (!row.ok()) return {T{}, row.error().message};
  EXPECT_TRUE(row->shape.empty());
  EXPECT_EQ(row->bytes.size(), sizeof(T));
  T value;
  std::memcpy(&value, row->bytes.data(), sizeof value);
  return {value, ""};
}

TEST(Integer, ReadsSignsAndWhiteSpace) {
  const FieldKind i64 = IntegerSpec();
  EXPECT_EQ(number<int64_t>(i64, "7").first, 7);
  EXPECT_EQ(number<int64_t>(i64, " \t-12\r\n").first, -12);
  EXPECT_EQ(number<int64_t>(i64, "+007").first, 7);
  EXPECT_EQ(number<int64_t>(i64, "-9223372036854775808").first,
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(number<uint64_t>(IntegerSpec{DType::u64}, "18446744073709551615").first, ~uint64_t{0});
  EXPECT_EQ(number<int8_t>(IntegerSpec{DType::i8}, "-128").first, -128);
}

TEST(Integer, RefusesWhatIsNone) {
  for (const char* text :
       {"", " ", "-", "+", "+-1", "--1", "1.0", "1e3", "0x10", "1_000", "1 2", "cat",
        "\xEF\xBB\xBF"
        "1"})
    EXPECT_NE(number<int64_t>(IntegerSpec(), text).second.find("not an integer"), std::string::npos)
        << text;
}

TEST(Integer, SaysWhatDoesNotFit) {
  EXPECT_EQ(number<int64_t>(IntegerSpec(), "9223372036854775808").second,
            "\"9223372036854775808\" does not fit into int64");
  EXPECT_EQ(number<uint8_t>(IntegerSpec{DType::u8}, "-1").second, "\"-1\" does not fit into uint8");
  EXPECT_EQ(number<uint8_t>(IntegerSpec{DType::u8}, "256").second,
            "\"256\" does not fit into uint8");
}

TEST(Float, ReadsNumbersInfinityAndNan) {
  EXPECT_EQ(number<float>(FloatSpec(), " 0.1\n").first, 0.1f);
  EXPECT_EQ(number<double>(FloatSpec{DType::f64}, "+1e-3").first, 1e-3);
  EXPECT_EQ(number<float>(FloatSpec(), "-inf").first, -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(number<float>(FloatSpec(), "NaN").first));
  EXPECT_EQ(number<float>(FloatSpec(), "1e-60").first, 0.0f);
}

TEST(Float, RefusesWhatIsNoneOrTooLarge) {
  for (const char* text : {"", "1,5", "0x1p3", "1.5x", "one"})
    EXPECT_NE(number<float>(FloatSpec(), text).second.find("not a number"), std::string::npos)
        << text;
  EXPECT_EQ(number<float>(FloatSpec(), "1e39").second, "\"1e39\" does not fit into float32");
  EXPECT_EQ(number<double>(FloatSpec{DType::f64}, "1e39").first, 1e39);
}

}  // namespace
}  // namespace headrace
