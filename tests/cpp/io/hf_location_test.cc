// Addresses on the Hub: the grammar of its own client.
#include "io/hf/hf_location.h"

#include <gtest/gtest.h>

#include "io/hf/signed_places.h"

namespace headrace {
namespace {

struct Parsed {
  const char* location;
  const char* kind;
  const char* id;
  const char* revision;
  const char* path;
};

TEST(HfLocation, TakesEveryFormApart) {
  const Parsed table[] = {
      {"hf://datasets/org/name", "datasets", "org/name", "main", ""},
      {"hf://org/name", "models", "org/name", "main", ""},
      {"hf://models/org/name/", "models", "org/name", "main", ""},
      {"hf://datasets/org/name/a/b.tar", "datasets", "org/name", "main", "a/b.tar"},
      {"hf://datasets/org/name@v1", "datasets", "org/name", "v1", ""},
      {"hf://datasets/org/name@v1/a", "datasets", "org/name", "v1", "a"},
      {"hf://datasets/org/name@a%2Fb/c", "datasets", "org/name", "a/b", "c"},
      {"hf://datasets/org/name@refs/pr/7/c", "datasets", "org/name", "refs/pr/7", "c"},
      {"hf://datasets/org/name@refs/convert/parquet", "datasets", "org/name",
       "refs/convert/parquet", ""},
      {"hf://datasets/org/name/with@sign", "datasets", "org/name", "main", "with@sign"},
  };
  for (const Parsed& row : table) {
    const auto parsed = HfLocation::parse(row.location);
    ASSERT_TRUE(parsed.ok()) << row.location;
    EXPECT_EQ(parsed->kind, row.kind) << row.location;
    EXPECT_EQ(parsed->id, row.id) << row.location;
    EXPECT_EQ(parsed->revision, row.revision) << row.location;
    EXPECT_EQ(parsed->path, row.path) << row.location;
    const auto again = HfLocation::parse(parsed->name() + "/x");
    ASSERT_TRUE(again.ok()) << parsed->name();
    EXPECT_EQ(again->revision, parsed->revision);
    EXPECT_EQ(again->path, "x");
  }
}

TEST(HfLocation, RefusesWhatNamesNoRepository) {
  for (const char* location : {"hf://", "hf://datasets/org", "hf://gpt2", "hf://datasets//name",
                               "hf://datasets/org/name@", "hf://spaces/org/name"})
    EXPECT_FALSE(HfLocation::parse(location).ok()) << location;
}

Url url(const char* text) { return *Url::parse(text); }

TEST(SignedPlaces, KnowWhenAnAddressEnds) {
  using Clock = std::chrono::system_clock;
  EXPECT_EQ(expiry_of(url("https://s/x?Expires=1795291448&Signature=a")),
            Clock::from_time_t(1795291448));
  EXPECT_EQ(expiry_of(url("https://s/x?X-Amz-Date=20261121T200408Z&X-Amz-Expires=60")),
            Clock::from_time_t(1795291448 + 60));
  EXPECT_FALSE(expiry_of(url("https://s/x?Expires=soon")));
  EXPECT_FALSE(expiry_of(url("https://s/x?X-Amz-Date=20261121")));
}

TEST(SignedPlaces, AreForgottenBeforeTheyEnd) {
  SignedPlaces places;
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const auto ending = [&](long seconds) {
    return url(("https://s/x?Expires=" + std::to_string(now + seconds)).c_str());
  };
  places.found("a", ending(3600));
  EXPECT_TRUE(places.find("a"));
  places.found("a", ending(-1));
  EXPECT_FALSE(places.find("a"));
  places.found("a", ending(3600));
  places.forget("a");
  EXPECT_FALSE(places.find("a"));
}

TEST(SignedPlaces, OneSearchesAndTheOthersWait) {
  SignedPlaces places;
  int called = 0;
  EXPECT_TRUE(places.begin_search("a", [&] { ++called; }));
  EXPECT_FALSE(places.begin_search("a", [&] { ++called; }));
  EXPECT_FALSE(places.begin_search("a", [&] { ++called; }));
  EXPECT_TRUE(places.begin_search("b", [&] { ++called; }));
  places.end_search("a");
  EXPECT_EQ(called, 2);
  EXPECT_TRUE(places.begin_search("a", [] {}));
}

}  // namespace
}  // namespace headrace
