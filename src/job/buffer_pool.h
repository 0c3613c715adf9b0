// Memory for the segments of shards under construction: bounds how many are under way, and keeps
// their buffers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace headrace {

/// Memory for one segment.
struct SegmentBuffer {
  std::unique_ptr<std::byte[]> bytes;
  size_t capacity = 0;

  explicit operator bool() const { return bytes != nullptr; }
  /// Drops the contents when it has to grow, but for the first `kept` bytes.
  void reserve(size_t wanted, size_t kept = 0);
};

/// Thread-safe.
class BufferPool {
 public:
  /// At most `segments` at once. New buffers have `bytes`; those that grew above `keep` are freed
  /// when they come back.
  BufferPool(size_t segments, size_t bytes, size_t keep)
      : bytes_(bytes), keep_(keep), left_(segments) {}

  /// Waits for a buffer; an empty one once the pool is closed.
  SegmentBuffer take();
  void give(SegmentBuffer buffer);
  /// After an error: segments that wait for the failed one keep their buffers.
  void close();

 private:
  const size_t bytes_;
  const size_t keep_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<SegmentBuffer> free_;
  size_t left_;
  bool closed_ = false;
};

}  // namespace headrace
