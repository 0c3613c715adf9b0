#include "engine/page_lock.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "engine/slot_pool.h"

namespace headrace {
namespace {

/// What the driver of the tests was asked for.
struct FakeDriver {
  void* const library = dlopen(FAKE_CUDA_DRIVER, RTLD_NOW);
  size_t (*const locked)() = find<size_t()>("fake_locked");
  int (*const retained)() = find<int()>("fake_retained");
  int (*const faults)() = find<int()>("fake_faults");
  void (*const refuse)(bool) = find<void(bool)>("fake_refuse");

  template <typename F>
  F* find(const char* name) {
    return reinterpret_cast<F*>(dlsym(library, name));
  }
};

std::shared_ptr<PageLock> opened() { return PageLock::open(1, FAKE_CUDA_DRIVER).value(); }

TEST(PageLock, SaysThatThereIsNoDriverOrDevice) {
  const auto driver = PageLock::open(0, "libno-such-driver.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, Code::kNotFound);
  EXPECT_NE(driver.error().message.find("libno-such-driver.so.1"), std::string::npos);

  const auto device = PageLock::open(7, FAKE_CUDA_DRIVER);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().message, "the CUDA driver's cuDeviceGet fails with 101");

  EXPECT_FALSE(PageLock::open(0, "libc.so.6").ok());  // a library that is no driver
}

TEST(PageLock, SlotsAreLockedAsLongAsTheyExist) {
  const FakeDriver driver;
  std::shared_ptr<const Slot> outlives;
  {
    SlotPool pool({.keep = 1});
    const auto before = pool.take(10'000);
    EXPECT_EQ(driver.locked(), 0U);
    pool.lock_slots(opened());
    std::vector<std::shared_ptr<const Slot>> slots;
    slots.reserve(4);
    for (int i = 0; i < 4; ++i) slots.push_back(pool.take(10'000));
    EXPECT_EQ(driver.locked(), 4U);
    slots.clear();  // one is kept
    EXPECT_EQ(driver.locked(), 1U);
    outlives = pool.take(5'000'000);  // takes the place of the one that was kept
    EXPECT_EQ(driver.locked(), 1U);
    EXPECT_EQ(driver.retained(), 1);
  }
  EXPECT_EQ(driver.locked(), 1U);
  outlives.reset();
  EXPECT_EQ(driver.locked(), 0U);
  EXPECT_EQ(driver.retained(), 0);
  EXPECT_EQ(driver.faults(), 0);
}

TEST(PageLock, SharedSlotsAndThoseOfAnyThread) {
  const FakeDriver driver;
  SlotPool pool({.keep = 0, .shared = true});
  pool.lock_slots(opened());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (uint64_t bytes = 1; bytes < 100; ++bytes) pool.take(bytes * 10'000);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(driver.locked(), pool.usage().slots);
  EXPECT_EQ(driver.faults(), 0);
}

TEST(PageLock, MemoryThatTheDriverRefusesStaysAsItIs) {
  const FakeDriver driver;
  SlotPool pool({.keep = 1});
  pool.lock_slots(opened());
  driver.refuse(true);
  const auto slot = pool.take(1000);
  driver.refuse(false);
  slot->memory[999] = std::byte{1};
  EXPECT_EQ(driver.locked(), 0U);
  EXPECT_EQ(driver.faults(), 0);
}

TEST(PageLock, AForkedChildAsksNothing) {
  const FakeDriver driver;
  auto pool = std::make_unique<SlotPool>(SlotPoolOptions{.keep = 1});
  pool->lock_slots(opened());
  auto held = pool->take(1000);
  pool->take(1000);  // and one is free
  const pid_t child = fork();
  if (child == 0) {
    held.reset();
    pool.reset();
    _exit(driver.locked() == 2 && driver.retained() == 1 && driver.faults() == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(driver.locked(), 2U);
}

}  // namespace
}  // namespace headrace
