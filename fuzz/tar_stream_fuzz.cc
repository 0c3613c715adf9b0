// Any bytes as a stream of tar, in pieces that the first byte chooses: never more memory than twice
// what came, and every member lies inside what came.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "stream/tar_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  if (size == 0) return 0;
  const size_t piece = 1 + size_t{data[0]} * 16;
  const size_t end = size;
  size_t at = 1;
  TarStream stream(
      [&](MutableBytes into) -> Result<size_t> {
        const size_t count = std::min({piece, into.size(), end - at});
        std::memcpy(into.data(), data + at, count);
        at += count;
        return count;
      },
      (data[0] & 1) != 0);
  uint64_t seen = 0;
  for (;;) {
    const auto member = stream.next();
    if (!member.ok() || *member == nullptr) return 0;
    if ((*member)->offset < seen || (*member)->offset + (*member)->data.size() > end) std::abort();
    seen = (*member)->offset;
  }
}
