// The map of an AIStore cluster: the owner of an object is the one that a real cluster named.
#include "io/ais/cluster_map.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

// Two targets of a cluster that ran, and where its gateway sent requests.
constexpr const char* kMap = R"({
 "version": "5",
 "tmap": {
  "EFFt18081": {
   "daemon_id": "EFFt18081",
   "flags": 0,
   "public_net": {
    "direct_url": "http://127.0.0.1:18081"
   }
  },
  "llGt18082": {
   "daemon_id": "llGt18082",
   "flags": 0,
   "public_net": {
    "direct_url": "http://127.0.0.1:18082"
   }
  }
 }
})";

struct Owner {
  const char* object;
  uint16_t port;
};
constexpr Owner kOwners[] = {
    {"x0", 18081},     {"x1", 18082},   {"a/b/c.jpg", 18081},         {"d/x 7.tar", 18081},
    {"ümläut", 18082}, {"100%", 18081}, {"photos-000001.tar", 18082}, {"photos-000002.tar", 18082},
};

TEST(ClusterMap, NamesTheTargetThatTheGatewayNames) {
  const auto map = ClusterMap::parse(kMap, "here");
  ASSERT_TRUE(map.ok()) << map.error().to_string();
  EXPECT_EQ(map->targets(), 2U);
  for (const auto& [object, port] : kOwners) {
    const Url* owner = map->owner("b1", object);
    ASSERT_NE(owner, nullptr);
    EXPECT_EQ(owner->port, port) << object;
    EXPECT_TRUE(map->has(*owner));
  }
}

TEST(ClusterMap, LeavesOutTargetsInMaintenance) {
  const auto map = ClusterMap::parse(
      R"({"version":"3","tmap":{"a":{"daemon_id":"a","flags":4,
          "public_net":{"direct_url":"http://h:1"}}}})",
      "here");
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->version(), "3");
  EXPECT_EQ(map->owner("b", "o"), nullptr);
}

TEST(ClusterMap, RefusesWhatIsNone) {
  for (const char* text :
       {"", "[]", "{}", R"({"tmap":3})", R"({"tmap":{"a":3}})", R"({"tmap":{"a":{"daemon_id":7}}})",
        R"({"tmap":{"a":{"daemon_id":"a","public_net":{"direct_url":5}}}})"})
    EXPECT_FALSE(ClusterMap::parse(text, "here").ok()) << text;
}

}  // namespace
}  // namespace headrace
