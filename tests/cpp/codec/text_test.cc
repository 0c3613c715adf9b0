#include "codec/text.h"

#include "codec/support.h"

namespace headrace {
namespace {

TEST(Utf8, NamesTheFirstByteThatStartsNoCharacter) {
  const struct {
    std::string_view text;
    size_t bad;
  } cases[] = {
      {"", 0},
      {"plain ascii of more than eight", 30},
      {"gr\xC3\xB6\xC3\x9F"
       "er \xF0\x9F\x90\xA6",
       13},
      {"12345678\xFF", 8},
      {"caf\xE9", 3},           // Latin-1
      {"/\xC0\xAF", 1},         // overlong, 2 bytes
      {"\xE0\x80\xAF", 0},      // overlong, 3 bytes
      {"\xF0\x80\x80\xAF", 0},  // overlong, 4 bytes
      {"a\xED\xA0\x80", 1},     // surrogate
      {"\xF4\x90\x80\x80", 0},  // above U+10FFFF
      {"abc\xE2\x82", 3},       // cut
      {"\xC3\xA9\x80", 2},      // continuation alone
      {"\xEF\xBF\xBF\xF4\x8F\xBF\xBF", 7},
  };
  for (const auto& c : cases) EXPECT_EQ(utf8_error(as_bytes(c.text)), c.bad) << c.text;
}

TEST(Text, RowsAreTheBytesThemselves) {
  const auto decoder = decoder_of(TextSpec());
  EXPECT_EQ(decoder->row_shape().kind, RowShape::Kind::kEncoded);
  EXPECT_EQ(decoder->row_shape().row_bytes(17), 17u);
  EXPECT_EQ(decode(*decoder, "\xEF\xBB\xBFhi")->bytes, "\xEF\xBB\xBFhi");
  EXPECT_EQ(decode(*decoder, "")->bytes, "");
  EXPECT_EQ(decode(*decoder, "abc\xFF").error().message,
            "not UTF-8 text: byte 3 of the field starts no character");
}

TEST(Bytes, AreNotLookedAt) {
  EXPECT_EQ(decode(*decoder_of(BytesSpec()), "\xFF\xFE")->bytes, "\xFF\xFE");
}

TEST(Json, AcceptsWhatTheStandardAllows) {
  for (const std::string_view text :
       {"{}", "[]", " [ ] ", "0", "-0", "-1.5e+10", "1E400", "\"\"", "true", "false", "null",
        R"({"a":[1,{"b":null}],"":"\u00e9\n\"\\\/"})", "[[],[{}],0]", "\xEF\xBB\xBF[1]",
        "\t\r\n 7 \n", "\"gr\xC3\xB6\xC3\x9F\"", R"("\ud800")"})
    EXPECT_TRUE(check_json(as_bytes(text)).ok()) << text;
}

TEST(Json, RefusesTheRestAndNamesTheByte) {
  const struct {
    std::string_view text;
    const char* words;
  } cases[] = {
      {"", "the document is cut short, at byte 0"},
      {"  \n", "the document is cut short, at byte 3"},
      {"{\"a\":1,}", "an object's key must be a string, at byte 7"},
      {"[1,]", "a comma before a closing bracket, at byte 3"},
      {"[1 2]", "a comma or a closing bracket is missing, at byte 3"},
      {"[1}", "a comma or a closing bracket is missing, at byte 2"},
      {"{'a':1}", "an object's key must be a string, at byte 1"},
      {"{\"a\" 1}", "a colon is missing after an object's key, at byte 5"},
      {"{\"a\":}", "no value starts here, at byte 5"},
      {"{\"a\":\"b", "a string is not closed, at byte 7"},
      {"{\"a\":1", "the document is cut short, at byte 6"},
      {"1 2", "more follows the document, at byte 2"},
      {"01", "more follows the document, at byte 1"},
      {"-", "a digit is missing in a number, at byte 1"},
      {"1.", "a digit is missing in a number, at byte 2"},
      {".5", "no value starts here, at byte 0"},
      {"1e", "a digit is missing in a number, at byte 2"},
      {"NaN", "no value starts here, at byte 0"},
      {"\"\t\"", "a control character in a string must be escaped, at byte 1"},
      {"\"\\x\"", "no such escape in a string, at byte 2"},
      {"\"\\u12g4\"", "\\u needs four hexadecimal digits, at byte 5"},
      {"[1] // c", "more follows the document, at byte 4"},
      {"]", "no value starts here, at byte 0"},
  };
  for (const auto& c : cases) {
    const auto status = check_json(as_bytes(c.text));
    ASSERT_FALSE(status.ok()) << c.text;
    EXPECT_EQ(status.error().message, std::string("not JSON: ") + c.words + " of the field");
  }
  EXPECT_NE(check_json(as_bytes("\"\xE9\"")).error().message.find("UTF-8"), std::string::npos);
}

TEST(Json, NestingIsBounded) {
  const std::string deep = std::string(kJsonDepthLimit, '[') + std::string(kJsonDepthLimit, ']');
  EXPECT_TRUE(check_json(as_bytes(deep)).ok());
  EXPECT_FALSE(check_json(as_bytes("[" + deep + "]")).ok());
  EXPECT_FALSE(check_json(as_bytes(std::string(100000, '['))).ok());
}

}  // namespace
}  // namespace headrace
