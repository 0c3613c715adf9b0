#include "base/stream_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace headrace {
namespace {

TEST(StreamCopy, CopiesEverySizeToEveryAlignmentAndNothingMore) {
  std::vector<std::byte> from(3 * kStreamFrom);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
  constexpr auto kUntouched = std::byte{0xAA};
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, kStreamFrom - 1, kStreamFrom,
                            kStreamFrom + 1, 2 * kStreamFrom + 37}) {
    for (size_t shift = 0; shift < 65; ++shift) {
      std::vector<std::byte> into(size + 200, kUntouched);
      const ByteView source = ByteView(from).subspan(shift % 17, size);
      stream_copy(MutableBytes(into).subspan(shift, size), source);
      ASSERT_TRUE(std::equal(source.begin(), source.end(), into.data() + shift)) << size;
      const auto untouched = [&](size_t begin, size_t end) {
        return std::all_of(into.data() + begin, into.data() + end,
                           [=](std::byte byte) { return byte == kUntouched; });
      };
      ASSERT_TRUE(untouched(0, shift)) << size;
      ASSERT_TRUE(untouched(shift + size, into.size())) << size;
    }
  }
}

}  // namespace
}  // namespace headrace
