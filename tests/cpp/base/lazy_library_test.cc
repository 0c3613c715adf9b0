#include "base/lazy_library.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace headrace {
namespace {

constexpr const char* kFunction = "headrace_make_picture_reader";

TEST(LazyLibrary, FindsALibraryOfOurs) {
  const auto address = lazy_address("avif", kFunction);
  ASSERT_TRUE(address.ok()) << address.error().to_string();
  EXPECT_NE(*address, nullptr);
}

TEST(LazyLibrary, IsLoadedOnceByAnyNumberOfThreads) {
  std::vector<void*> found(8);
  std::vector<std::thread> threads;
  for (void*& place : found)
    threads.emplace_back([&place] { place = lazy_address("avif", kFunction).value(); });
  for (std::thread& thread : threads) thread.join();
  for (const void* place : found) EXPECT_EQ(place, found.front());
}

TEST(LazyLibrary, NamesWhatIsNotThere) {
  const auto library = lazy_address("no_such", kFunction);
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::kNotFound);
  EXPECT_NE(library.error().message.find("libheadrace_no_such.so"), std::string::npos);

  const auto function = lazy_address("avif", "no_such");
  ASSERT_FALSE(function.ok());
  EXPECT_NE(function.error().message.find("no_such"), std::string::npos);
}

}  // namespace
}  // namespace headrace
