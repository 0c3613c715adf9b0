#include "engine/slot_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace headrace {
namespace {

/// Nameless files of slots; connections of other tests come and go.
size_t open_files() {
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(file.path(), gone).native();
    if (target.find("memfd:") != std::string::npos) ++count;
  }
  return count;
}

TEST(SlotPool, GivesTheSameMemoryAgainOnlyAfterItCameBack) {
  SlotPool pool({.keep = 2});
  auto first = pool.take(1000);
  const auto second = pool.take(1000);
  EXPECT_NE(first->memory.data(), second->memory.data());
  EXPECT_EQ(first->descriptor, -1);
  const std::byte* at = first->memory.data();
  first.reset();
  EXPECT_EQ(pool.take(1000)->memory.data(), at);
  EXPECT_EQ(pool.usage().slots, 2U);
}

TEST(SlotPool, SharedSlotsAreMappedByTheirDescriptor) {
  SlotPool pool({.keep = 2, .shared = true});
  const auto slot = pool.take(100'000);
  ASSERT_GE(slot->descriptor, 0);
  std::memset(slot->memory.data(), 7, slot->memory.size());
  void* other =
      mmap(nullptr, slot->memory.size(), PROT_READ | PROT_WRITE, MAP_SHARED, slot->descriptor, 0);
  ASSERT_NE(other, MAP_FAILED);
  auto* bytes = static_cast<unsigned char*>(other);
  EXPECT_EQ(bytes[99'999], 7);
  bytes[0] = 9;
  EXPECT_EQ(slot->memory[0], std::byte{9});
  munmap(other, slot->memory.size());
}

TEST(SlotPool, ASharedSlotKeepsItsNumberAndOthersHaveOthers) {
  SlotPool pool({.keep = 2, .shared = true});
  auto first = pool.take(1000);
  const auto second = pool.take(1000);
  const uint64_t id = first->id;
  EXPECT_NE(id, second->id);
  first.reset();
  EXPECT_EQ(pool.take(1000)->id, id);
}

TEST(SlotPool, SharedSlotsLeaveNoFileOpen) {
  const size_t before = open_files();
  {
    SlotPool pool({.keep = 1, .shared = true});
    auto a = pool.take(1000), b = pool.take(1000), c = pool.take(1'000'000);
    EXPECT_EQ(open_files(), before + 3);
    a.reset();
    b.reset();
    EXPECT_EQ(open_files(), before + 2);  // one free slot is kept
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace headrace
