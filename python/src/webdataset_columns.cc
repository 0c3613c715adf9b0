// What becomes an array here becomes the very array that numpy.array(list) makes: int64 of Python's
// ints, float64 of its floats, arrays of one type and shape stacked. Everything that numpy has
// rules for (mixed types, large ints, bools, subclasses, other byte orders, strides) is left to it.
#include "webdataset_columns.h"

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "webdataset_arrays.h"

namespace headrace::python {
namespace {

nb::object list_of(const Values& values) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(values.size()));
  if (list == nullptr) throw nb::python_error();
  for (size_t i = 0; i < values.size(); ++i)
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), Py_NewRef(values[i].ptr()));
  return nb::steal(list);
}

template <typename T>
nb::object array_of(const std::vector<T>& numbers, const char* type) {
  nb::object made = empty_array({static_cast<int64_t>(numbers.size())}, nb::str(type));
  const ArrayView memory(made, PyBUF_WRITABLE);
  copy_rows({std::as_bytes(std::span(numbers))}, memory.bytes());
  return made;
}

nb::object column_of_ints(const Values& values) {
  std::vector<int64_t> numbers;
  numbers.reserve(values.size());
  for (const nb::object& value : values) {
    int overflow = 0;
    if (!PyLong_CheckExact(value.ptr())) return {};
    numbers.push_back(PyLong_AsLongLongAndOverflow(value.ptr(), &overflow));
    if (overflow != 0) return {};
  }
  return array_of(numbers, "i8");
}

nb::object column_of_floats(const Values& values) {
  std::vector<double> numbers;
  numbers.reserve(values.size());
  for (const nb::object& value : values) {
    if (!PyFloat_CheckExact(value.ptr())) return {};
    numbers.push_back(PyFloat_AS_DOUBLE(value.ptr()));
  }
  return array_of(numbers, "f8");
}

/// numpy itself need not be imported to know its arrays; subclasses have other names.
bool is_array(nb::handle value) {
  return std::strcmp(Py_TYPE(value.ptr())->tp_name, "numpy.ndarray") == 0;
}

bool is_plain_number(const char* format) {
  constexpr std::string_view kSingle = "?bBhHiIlLqQefd";
  if (format == nullptr) return false;
  const std::string_view code(format);
  if (code == "Zf" || code == "Zd") return true;
  return code.size() == 1 && kSingle.find(code[0]) != std::string_view::npos;
}

bool are_alike(const Py_buffer& one, const Py_buffer& other) {
  return one.ndim == other.ndim && one.len == other.len &&
         std::strcmp(one.format, other.format) == 0 &&
         std::equal(one.shape, one.shape + one.ndim, other.shape);
}

nb::object stacked(const Values& values) {
  std::vector<std::unique_ptr<ArrayView>> views;
  std::vector<ByteView> rows;
  for (const nb::object& value : values) {
    if (!is_array(value)) return {};
    views.push_back(std::make_unique<ArrayView>(value, PyBUF_FORMAT));
    const ArrayView& row = *views.back();
    if (!row.valid() || !is_plain_number(row.view().format)) return {};
    if (!are_alike(row.view(), views.front()->view())) return {};
    rows.push_back(row.bytes());
  }
  const Py_buffer& first = views.front()->view();
  std::vector<int64_t> shape(first.shape, first.shape + first.ndim);
  shape.insert(shape.begin(), static_cast<int64_t>(values.size()));
  nb::object made = empty_array(shape, values.front().attr("dtype"));
  const ArrayView memory(made, PyBUF_WRITABLE);
  copy_rows(rows, memory.bytes());
  return made;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// An invalid object: not one that is made here.
nb::object plain_column(const Values& values, bool tensors, bool scalars) {
  PyObject* first = values.front().ptr();
  if (PyBytes_CheckExact(first) || PyUnicode_CheckExact(first)) return list_of(values);
  if (scalars && PyLong_CheckExact(first)) return column_of_ints(values);
  if (scalars && PyFloat_CheckExact(first)) return column_of_floats(values);
  return tensors && is_array(first) ? stacked(values) : nb::object();
}

}  // namespace

nb::object Combine::column(const Values& values) const {
  nb::object made = plain_column(values, tensors, scalars);
  return made.is_valid() ? made : others(list_of(values), tensors, scalars);
}

nb::object column_of_integers(const std::vector<int64_t>& numbers) {
  return array_of(numbers, "i8");
}

nb::object column_of_npy(const std::vector<ByteView>& files) {
  std::vector<int64_t> shape, other;
  const auto first = plain_npy(files.front(), shape);
  NpyHeader header;
  if (!first || !header.is_plain(files.front())) return {};
  std::vector<ByteView> rows;
  for (const ByteView file : files) {
    if (const auto data = header.data_of(file)) {
      rows.push_back(*data);
      continue;
    }
    const auto array = plain_npy(file, other);
    if (!array || array->dtype != first->dtype || other != shape) return {};
    rows.push_back(array->data);
  }
  shape.insert(shape.begin(), static_cast<int64_t>(rows.size()));
  nb::object made = empty_array(shape, nb::str(numpy_name(first->dtype)));
  const ArrayView memory(made, PyBUF_WRITABLE);
  copy_rows(rows, memory.bytes());
  return made;
}

std::optional<int64_t> integer_of(ByteView field) {
  std::string_view text = as_text(field);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

nb::object text_of(ByteView field) {
  const std::string_view text = as_text(field);
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
  if (decoded == nullptr) PyErr_Clear();
  return nb::steal(decoded);
}

}  // namespace headrace::python
