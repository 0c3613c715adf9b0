#include "base/first_error.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

Error named(const char* message) { return {.message = message}; }

TEST(FirstError, KeepsThatOfTheEarliestPiece) {
  FirstError first;
  EXPECT_FALSE(first.is_set());
  EXPECT_TRUE(first.take().ok());
  first.set(2, 0, named("a later task"));
  first.set(1, 7, named("the task"));
  first.set(1, 8, named("a later piece"));
  first.set(1, 3, named("the piece"));
  first.set(1, 3, named("the piece again"));
  ASSERT_TRUE(first.is_set());
  const Status status = first.take();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "the piece");
}

}  // namespace
}  // namespace headrace
