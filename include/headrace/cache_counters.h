// What a process read through the cache of its node. Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace headrace {

struct CacheCounters {
  uint64_t hit_bytes = 0;       ///< read from the cache
  uint64_t fetched_bytes = 0;   ///< read from the stores and kept
  uint64_t streamed_bytes = 0;  ///< read from the stores and not kept
  uint64_t damaged = 0;         ///< granules without their checksum, fetched again
  /// Why something was not kept, the first time; empty if all is well. Worth one warning.
  std::string trouble = {};
};

}  // namespace headrace
