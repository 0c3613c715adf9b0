// PictureRows is the memory of pictures of one shape, behind each other: the batch that they are
// decoded straight into, or a single one.
//
//   row 0        row 1        row 2
//   |h x w x c   |h x w x c   |h x w x c   |     the first picture's shape is that of all rows
//
// Thread-safety: row() from any thread; each row belongs to whoever decodes into it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace headrace {

class PictureRows {
 public:
  /// `floats`: numbers of float32, else bytes.
  PictureRows(size_t count, bool floats) : count_(count), floats_(floats) {}

  /// Memory for a picture, whose shape the first call settles for all rows. nullptr: the rows have
  /// another shape, or there is not so much memory.
  std::byte* row(size_t index, const std::vector<size_t>& shape);

  bool floats() const { return floats_; }
  /// Of a picture, once row() gave memory.
  const std::vector<size_t>& shape() const { return shape_; }
  size_t row_bytes() const { return row_bytes_; }
  std::byte* at(size_t index) const { return bytes_.get() + index * row_bytes_; }

 private:
  bool settle(const std::vector<size_t>& shape);

  const size_t count_;
  const bool floats_;
  std::mutex mutex_;
  std::vector<size_t> shape_;
  size_t row_bytes_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace headrace
