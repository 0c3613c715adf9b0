#include "base/safe_path.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(SafePath, LetsOnlyPathsThroughThatStayBelowTheirFolder) {
  for (const char* path : {"a", "a/b.txt", "..a", "a..", ".a", "a b", "caf\xe9", "a/.../b", "-a"})
    EXPECT_TRUE(is_safe_path(path)) << path;
  for (const char* path : {"", "/", "/a", "a/", "..", ".", "../a", "a/..", "a/../b", "./a", "a//b",
                           "a/./b", "../../etc/passwd", "//a"})
    EXPECT_FALSE(is_safe_path(path)) << path;
  EXPECT_FALSE(is_safe_path(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_safe_path(std::string(4096, 'a')));
  EXPECT_FALSE(is_safe_path(std::string(4097, 'a')));
}

}  // namespace
}  // namespace headrace
