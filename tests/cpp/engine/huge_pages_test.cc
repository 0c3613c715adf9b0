#include "engine/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace headrace {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

/// Fresh memory of the system.
class Mapping {
 public:
  explicit Mapping(uint64_t bytes)
      : at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        bytes_(bytes) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(at_, bytes_); }

  bool ok() const { return at_ != MAP_FAILED; }
  MutableBytes bytes() const { return {static_cast<std::byte*>(at_), bytes_}; }

 private:
  void* at_;
  uint64_t bytes_;
};

TEST(HugePages, MemoryOfAnySizeIsZeroAndItsOwnersAfterwards) {
  for (const auto make : {advise_huge_pages, make_huge_pages_while_cheap})
    for (const uint64_t size : std::array{kPage, kHugePage - kPage, kHugePage, kHugePage + kPage,
                                          9 * kHugePage + kPage}) {
      const Mapping mapping(size);
      ASSERT_TRUE(mapping.ok());
      make(mapping.bytes());
      EXPECT_TRUE(
          std::ranges::all_of(mapping.bytes(), [](std::byte b) { return b == std::byte{}; }));
      std::ranges::fill(mapping.bytes(), std::byte{7});
    }
}

TEST(HugePages, NothingIsTouchedOutsideOfTheMemory) {
  const Mapping mapping(4 * kHugePage);
  ASSERT_TRUE(mapping.ok());
  const MutableBytes last = mapping.bytes().last(kHugePage);
  ASSERT_EQ(mprotect(last.data(), last.size(), PROT_NONE), 0);
  make_huge_pages_while_cheap(mapping.bytes().first(3 * kHugePage));  // a touch would be a signal
}

TEST(HugePages, NoMemoryIsNothingToDo) {
  advise_huge_pages({});
  make_huge_pages_while_cheap({});
}

}  // namespace
}  // namespace headrace
