#include "job/name_template.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(NameTemplate, CountsAsPrintfDoes) {
  const auto names = NameTemplate::parse("train-%06d.tar");
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->name(0), "train-000000.tar");
  EXPECT_EQ(names->name(1234567), "train-1234567.tar");
  EXPECT_EQ(names->limit(), ~uint64_t{0});
  EXPECT_EQ(NameTemplate::parse("a%%b%d.tar")->name(7), "a%b7.tar");
}

TEST(NameTemplate, BracesMultiplyAndTheLastVariesFastest) {
  const auto names = NameTemplate::parse("v{1..2}/s-{08..10}.tar");
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->limit(), 6U);
  EXPECT_EQ(names->name(0), "v1/s-08.tar");
  EXPECT_EQ(names->name(2), "v1/s-10.tar");
  EXPECT_EQ(names->name(3), "v2/s-08.tar");
  EXPECT_EQ(NameTemplate::parse("{0..9..3}.tar")->limit(), 4U);
  EXPECT_EQ(NameTemplate::parse("{0..9..3}.tar")->name(3), "9.tar");
}

TEST(NameTemplate, AtIsARangeFromZeroAsWideAsWritten) {
  const auto names = NameTemplate::parse("p-@0100.tar");
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->limit(), 101U);
  EXPECT_EQ(names->name(5), "p-0005.tar");
  EXPECT_EQ(names->name(100), "p-0100.tar");
}

TEST(NameTemplate, BadTemplatesAreRefused) {
  for (const char* text :
       {"x", "x.tar", "%06d", "%6d.tar", "%d%d.tar", "%s.tar", "/a-%d.tar", "../%d.tar",
        "a/../%d.tar", "_headrace/%d.tar", "{3..1}.tar", "{a..b}.tar", "{1..2.tar", "%d-{0..1}.tar",
        "{0..1..0}.tar", "@99999999999999999999999.tar", "a//%d.tar", "%"})
    EXPECT_EQ(NameTemplate::parse(text).ok(), false) << text;
  EXPECT_FALSE(NameTemplate::parse(std::string_view("a\0b-%d.tar", 10)).ok());
}

}  // namespace
}  // namespace headrace
