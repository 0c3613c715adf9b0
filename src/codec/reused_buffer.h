// Memory of one thread that is used again and again: it grows to the largest size asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "headrace/bytes.h"

namespace headrace {

/// Uninitialised bytes that are used again.
class ReusedBuffer {
 public:
  /// `size` bytes whose content is undefined; invalidates what was taken before.
  MutableBytes take(size_t size) {
    if (size > capacity_) {
      bytes_.reset();
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
      capacity_ = size;
    }
    return {bytes_.get(), size};
  }
  uint8_t* take_pixels(size_t size) { return reinterpret_cast<uint8_t*>(take(size).data()); }

  /// Whether `at` points into it.
  bool holds(const void* at) const {
    const auto* byte = static_cast<const std::byte*>(at);
    return !std::less<>()(byte, bytes_.get()) && std::less<>()(byte, bytes_.get() + capacity_);
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  size_t capacity_ = 0;
};

}  // namespace headrace
