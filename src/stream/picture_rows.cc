#include "stream/picture_rows.h"

#include <new>

namespace headrace {

std::byte* PictureRows::row(size_t index, const std::vector<size_t>& shape) {
  const std::lock_guard lock(mutex_);
  if (shape_.empty() && !settle(shape)) return nullptr;
  return shape == shape_ ? at(index) : nullptr;
}

bool PictureRows::settle(const std::vector<size_t>& shape) {
  size_t row_bytes = floats_ ? sizeof(float) : 1;
  for (const size_t side : shape) row_bytes *= side;
  size_t bytes = 0;
  if (__builtin_mul_overflow(row_bytes, count_, &bytes)) return false;
  // Large pictures of which a batch has many need not fit together.
  bytes_ = std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes]);
  if (!bytes_) return false;
  shape_ = shape;
  row_bytes_ = row_bytes;
  return true;
}

}  // namespace headrace
