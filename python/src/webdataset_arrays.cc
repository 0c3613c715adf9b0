// Array files of numpy as the arrays that numpy's own reader makes of them: memory that belongs to
// the array, in the file's type.
#include "webdataset_arrays.h"

#include <cstring>

namespace headrace::python {
namespace {

/// numpy reads no longer header.
constexpr size_t kHeaderLimit = 10000;
/// From here on copying is worth letting other threads run.
constexpr size_t kLarge = size_t{1} << 16;

nb::object npy_array(const nb::bytes& file) {
  const ByteView bytes(static_cast<const std::byte*>(file.data()), file.size());
  std::vector<int64_t> shape;
  const std::optional<NpyArray> array = plain_npy(bytes, shape);
  if (!array) return nb::none();
  nb::object made = empty_array(shape, nb::str(numpy_name(array->dtype)));
  const ArrayView memory(made, PyBUF_WRITABLE);
  copy_rows({array->data}, memory.bytes());
  return made;
}

}  // namespace

const char* numpy_name(DType type) {
  switch (type) {
    case DType::u8:
      return "u1";
    case DType::i8:
      return "i1";
    case DType::u16:
      return "u2";
    case DType::i16:
      return "i2";
    case DType::u32:
      return "u4";
    case DType::i32:
      return "i4";
    case DType::u64:
      return "u8";
    case DType::i64:
      return "i8";
    case DType::f16:
      return "f2";
    case DType::f32:
      return "f4";
    case DType::f64:
      return "f8";
    case DType::bool_:
      return "?";
    case DType::c64:
      return "c8";
    case DType::c128:
      return "c16";
    default:
      return nullptr;
  }
}

std::optional<NpyArray> plain_npy(ByteView file, std::vector<int64_t>& shape) {
  Result<NpyArray> array = parse_npy(file, shape);
  if (!array.ok() || array->big_endian || array->fortran_order || array->data.empty())
    return std::nullopt;
  if (numpy_name(array->dtype) == nullptr || file.size() - array->data.size() > kHeaderLimit)
    return std::nullopt;
  return std::move(array).value();
}

bool NpyHeader::is_plain(ByteView file) {
  if (data_of(file)) return true;
  std::vector<int64_t> shape;
  const std::optional<NpyArray> array = plain_npy(file, shape);
  if (!array) return false;
  header_ = as_text(file).substr(0, file.size() - array->data.size());
  file_size_ = file.size();
  return true;
}

std::optional<ByteView> NpyHeader::data_of(ByteView file) const {
  if (header_.empty() || file.size() != file_size_ || !as_text(file).starts_with(header_))
    return std::nullopt;
  return file.subspan(header_.size());
}

nb::object empty_array(const std::vector<int64_t>& shape, const nb::object& type) {
  nb::list sides;
  for (const int64_t side : shape) sides.append(side);
  return nb::module_::import_("numpy").attr("empty")(nb::tuple(sides), type);
}

ArrayView::ArrayView(nb::handle object, int flags) {
  valid_ = PyObject_GetBuffer(object.ptr(), &view_, flags | PyBUF_C_CONTIGUOUS) == 0;
  if (!valid_) PyErr_Clear();
}

void copy_rows(const std::vector<ByteView>& rows, MutableBytes into) {
  const auto copy = [&] {
    std::byte* out = into.data();
    for (const ByteView row : rows) {
      std::memcpy(out, row.data(), row.size());
      out += row.size();
    }
  };
  if (into.size() < kLarge) return copy();
  nb::gil_scoped_release unlocked;
  copy();
}

void bind_webdataset_arrays(nb::module_& module) {
  module.def("npy_array", &npy_array, nb::arg("file"));
}

}  // namespace headrace::python
