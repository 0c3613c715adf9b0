// A folder in a bucket on a real server, at the location that HEADRACE_TEST_STORE names: the Python
// tests start the servers (tests/python/test_bucket_stores.py) and run the live tests against each.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "headrace/store.h"

namespace headrace {

inline std::string noise(size_t bytes, uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::string out(bytes, '\0');
  for (char& c : out) c = static_cast<char>(draw());
  return out;
}

inline std::string said(const Status& status) {
  return status.ok() ? "" : status.error().to_string();
}

class LiveBucket : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* location = std::getenv("HEADRACE_TEST_STORE");
    if (location == nullptr) GTEST_SKIP() << "HEADRACE_TEST_STORE names no location";
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::string(location) + "/" + test->name();
    store_ = open();
  }
  std::shared_ptr<Store> open() const {
    auto store = open_store(root_);
    EXPECT_TRUE(store.ok()) << store.error().to_string();
    return store.ok() ? *store : nullptr;
  }
  std::string root_;
  std::shared_ptr<Store> store_;
};

}  // namespace headrace
