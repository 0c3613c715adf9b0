// The memory inside a Scratch: buffers that only ever grow, one for each thing that must live at
// the same time as the others. Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/decoder.h"

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

 private:
  std::unique_ptr<std::byte[]> bytes_;
  size_t capacity_ = 0;
};

struct Scratch::Buffers {
  ReusedBuffer row;         ///< a dynamic row
  ReusedBuffer decoded;     ///< the picture as the file has it
  ReusedBuffer upright;     ///< the picture turned
  ReusedBuffer padded[2];   ///< pictures with zeros around them, in turn
  ReusedBuffer horizontal;  ///< a resize, between its two passes
  ReusedBuffer resized[2];  ///< resizes, in turn
  std::vector<int64_t> shape;
  std::vector<double> exact_weights;
  std::vector<int32_t> weights_x;
  std::vector<int32_t> weights_y;
  std::vector<int> bounds_x;
  std::vector<int> bounds_y;
};

}  // namespace headrace
