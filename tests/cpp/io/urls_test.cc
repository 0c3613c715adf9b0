#include "io/urls.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace headrace {
namespace {

using Names = std::vector<std::string>;

TEST(Urls, BracesCountWithZeroPadding) {
  EXPECT_EQ(*expand_braces("s-{08..11}.tar"),
            (Names{"s-08.tar", "s-09.tar", "s-10.tar", "s-11.tar"}));
  EXPECT_EQ(*expand_braces("{8..10}"), (Names{"8", "9", "10"}));
  EXPECT_EQ(*expand_braces("{000..10..5}"), (Names{"000", "005", "010"}));
}

TEST(Urls, TheLastBraceVariesFastest) {
  EXPECT_EQ(*expand_braces("{a,b}{0..1}"), (Names{"a0", "a1", "b0", "b1"}));
  EXPECT_EQ(*expand_braces("{x{1..2},y}"), (Names{"x1", "x2", "y"}));
}

TEST(Urls, OtherBracesStandForThemselves) {
  for (const char* text : {"plain", "{}", "{abc}", "a{b", "a}b", "{1..}", "{..2}"})
    EXPECT_EQ(*expand_braces(text), Names{text}) << text;
}

TEST(Urls, RangesThatAreHugeOrGoDownAreRefused) {
  EXPECT_EQ(expand_braces("{9..1}").error().code, Code::kUsage);
  EXPECT_EQ(expand_braces("{0..9..0}").error().code, Code::kUsage);
  EXPECT_EQ(expand_braces("{0..99999999999}").error().code, Code::kUsage);
  EXPECT_EQ(expand_braces("{0..99999999999999999999999}").error().code, Code::kUsage);
  EXPECT_EQ(expand_braces("{1..99999}{1..99999}").error().code, Code::kUsage);
}

TEST(Urls, ListsAreLinesOrNulSeparated) {
  EXPECT_EQ(split_list("a\r\nb\n\nc"), (Names{"a", "b", "c"}));
  EXPECT_EQ(split_list(std::string_view("a\nb\0c\0", 6)), (Names{"a\nb", "c"}));
  EXPECT_TRUE(split_list("").empty());
}

TEST(Urls, LocationsAreGlobsAndListsAndExistingPathsWin) {
  TemporaryFolder folder;
  for (const char* name : {"b.tar", "a.tar", "c.txt", "x[1].tar", "{1..2}.tar"})
    write_file(folder / name, "x");
  write_file(folder / "list.txt", (folder / "{q,r}.tar") + "\n" + (folder / "a.tar") + "\n");
  EXPECT_EQ(*expand_locations({folder / "[ab].tar"}), (Names{folder / "a.tar", folder / "b.tar"}));
  EXPECT_EQ(*expand_locations({folder / "x[1].tar"}), Names{folder / "x[1].tar"});
  EXPECT_EQ(*expand_locations({folder / "{1..2}.tar"}), Names{folder / "{1..2}.tar"});
  EXPECT_EQ(*expand_locations({"@" + (folder / "list.txt")}),
            (Names{folder / "q.tar", folder / "r.tar", folder / "a.tar"}));
  EXPECT_EQ(expand_locations({folder / "*.zip"}).error().code, Code::kNotFound);
}

TEST(Urls, TheQueryOfAnAddressIsNeitherAPatternNorAName) {
  const std::string query = "?sig={a,b}*/x.tar";
  EXPECT_EQ(*expand_locations({"https://h/{1..2}.tar" + query}),
            (Names{"https://h/1.tar" + query, "https://h/2.tar" + query}));
  EXPECT_EQ(without_query("https://h/1.tar" + query), "https://h/1.tar");
  EXPECT_EQ(without_query("s3://b/what?.tar"), "s3://b/what?.tar");
  EXPECT_EQ(without_query("what?.tar"), "what?.tar");
  const ObjectPlace place = split_location("http://h/a/b%20c.tar" + query);
  EXPECT_EQ(place.folder, "http://h/a/");
  EXPECT_EQ(place.name, "b c.tar");
}

TEST(Urls, SchemesAndFileUrls) {
  EXPECT_EQ(url_scheme("s3://b/x"), "s3");
  EXPECT_EQ(url_scheme("c:/x"), "");
  EXPECT_EQ(url_scheme("a/b:c"), "");
  EXPECT_EQ(local_path("file:///a%20b/%zz"), "/a b/%zz");
  EXPECT_EQ(local_path("file:rel/x"), "rel/x");
  EXPECT_EQ(local_path("file://localhost/x"), "/x");
}

}  // namespace
}  // namespace headrace
