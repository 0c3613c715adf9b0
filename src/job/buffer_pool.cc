#include "job/buffer_pool.h"

#include <cstring>

namespace headrace {

void SegmentBuffer::reserve(size_t wanted, size_t kept) {
  if (wanted <= capacity) return;
  auto larger = std::make_unique_for_overwrite<std::byte[]>(wanted);
  if (kept > 0) std::memcpy(larger.get(), bytes.get(), kept);
  bytes = std::move(larger);
  capacity = wanted;
}

SegmentBuffer BufferPool::take() {
  std::unique_lock lock(mutex_);
  given_back_.wait(lock, [this] { return closed_ || left_ > 0; });
  if (closed_) return {};
  --left_;
  SegmentBuffer buffer;
  if (!free_.empty()) {
    buffer = std::move(free_.back());
    free_.pop_back();
  }
  buffer.reserve(bytes_);
  return buffer;
}

void BufferPool::give(SegmentBuffer buffer) {
  {
    const std::lock_guard lock(mutex_);
    ++left_;
    if (buffer.capacity <= keep_) free_.push_back(std::move(buffer));
  }
  given_back_.notify_one();
}

void BufferPool::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  given_back_.notify_all();
}

}  // namespace headrace
