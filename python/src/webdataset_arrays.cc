// Array files of numpy as the arrays that numpy's own reader makes of them: memory that belongs to
// the array, in the file's type. Plain numbers in C order only; the answer None means: ask numpy,
// which also has the words for what is wrong with a file.
#include <cstring>
#include <string>
#include <vector>

#include "bindings.h"
#include "codec/npy.h"

namespace headrace::python {
namespace {

/// numpy reads no longer header.
constexpr size_t kHeaderLimit = 10000;
/// From here on copying is worth letting other threads run.
constexpr size_t kLarge = size_t{1} << 16;

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

nb::tuple shape_of(const std::vector<int64_t>& shape) {
  nb::list sides;
  for (const int64_t side : shape) sides.append(side);
  return nb::tuple(sides);
}

/// Copies the elements into a new array, which nobody else has seen yet.
void fill(const nb::object& array, ByteView data) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
  const bool fits = static_cast<size_t>(view.len) == data.size();
  if (fits && data.size() >= kLarge) {
    nb::gil_scoped_release unlocked;
    std::memcpy(view.buf, data.data(), data.size());
  } else if (fits) {
    std::memcpy(view.buf, data.data(), data.size());
  }
  PyBuffer_Release(&view);
  if (!fits) throw nb::value_error("the new array has another size than the file's");
}

nb::object npy_array(const nb::bytes& file, const nb::object& empty) {
  const ByteView bytes(static_cast<const std::byte*>(file.data()), file.size());
  std::vector<int64_t> shape;
  const Result<NpyArray> array = parse_npy(bytes, shape);
  if (!array.ok() || array->big_endian || array->fortran_order || array->data.empty())
    return nb::none();
  const char* name = numpy_name(array->dtype);
  if (name == nullptr || bytes.size() - array->data.size() > kHeaderLimit) return nb::none();
  nb::object made = empty(shape_of(shape), name);
  fill(made, array->data);
  return made;
}

}  // namespace

void bind_webdataset_arrays(nb::module_& module) {
  module.def("npy_array", &npy_array, nb::arg("file"), nb::arg("empty"));
}

}  // namespace headrace::python
