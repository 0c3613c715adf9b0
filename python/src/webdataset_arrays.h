// Array files of numpy for headrace.webdataset: what C++ reads of them, and new arrays to fill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "codec/npy.h"

namespace headrace::python {

/// The name that numpy knows a type by; nullptr: it has none.
const char* numpy_name(DType type);

/// A file of plain numbers in C order, its sides in `shape`; nothing: ask numpy, which also has the
/// words for what is wrong with a file.
std::optional<NpyArray> plain_npy(ByteView file, std::vector<int64_t>& shape);

/// Tells plain files by comparing their headers with the last one's: those of a data set are alike.
class NpyHeader {
 public:
  /// As plain_npy.
  bool is_plain(ByteView file);
  /// The numbers of a file with the very header and size of the last that was plain.
  std::optional<ByteView> data_of(ByteView file) const;

 private:
  std::string header_;
  size_t file_size_ = 0;
};

/// numpy.empty(shape, type); `type` as numpy.dtype understands it.
nb::object empty_array(const std::vector<int64_t>& shape, const nb::object& type);

/// The memory of a Python object, in C order, for as long as this lives. Needs the GIL at both
/// ends.
class ArrayView {
 public:
  /// Not valid(), and no exception set, where the object has no such memory.
  ArrayView(nb::handle object, int flags);
  ~ArrayView() {
    if (valid_) PyBuffer_Release(&view_);
  }
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;

  bool valid() const { return valid_; }
  const Py_buffer& view() const { return view_; }
  MutableBytes bytes() const {
    return {static_cast<std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
  bool valid_ = false;
};

/// Copies pieces of one size behind each other, without the GIL where that is worth it.
void copy_rows(const std::vector<ByteView>& rows, MutableBytes into);

}  // namespace headrace::python
