// Copies into memory that no cache holds, past the caches where the processor can.
//
// A store to a line that is not in a cache first reads the line from memory. A batch is larger than
// the caches, so these reads would be a third of all traffic; streaming stores leave them out.
//
// Thread-safe: touches nothing but its arguments.
#pragma once

#include <cstdint>
#include <cstring>

#include "headrace/bytes.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace headrace {

/// Whether stream_copy can do more than memcpy.
#if defined(__SSE2__)
inline constexpr bool kStreams = true;
#else
inline constexpr bool kStreams = false;
#endif

/// Less than this shares its lines with its neighbours, and goes through the cache.
inline constexpr size_t kStreamFrom = size_t{4} << 10;

/// Precondition: `into` has room for `from`; they do not overlap.
inline void stream_copy(MutableBytes into, ByteView from) {
  size_t at = 0;
#if defined(__SSE2__)
  if (from.size() >= kStreamFrom) {
    constexpr size_t kLine = 64;
    at = (kLine - reinterpret_cast<uintptr_t>(into.data()) % kLine) % kLine;
    std::memcpy(into.data(), from.data(), at);
    for (; at + kLine <= from.size(); at += kLine) {
      const auto* source = reinterpret_cast<const __m128i*>(from.data() + at);
      auto* target = reinterpret_cast<__m128i*>(into.data() + at);
      const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();  // before a lock hands the memory to another thread
  }
#endif
  if (at < from.size()) std::memcpy(into.data() + at, from.data() + at, from.size() - at);
}

}  // namespace headrace
