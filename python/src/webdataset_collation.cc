// default_collation_fn of headrace.webdataset: samples into columns.
//
// The answer None means: not plain. Python then goes the way that has the rules and the words.
#include <utility>
#include <vector>

#include "bindings.h"
#include "webdataset_columns.h"

namespace headrace::python {
namespace {

Values items_of(const nb::list& list) {
  Values items;
  items.reserve(list.size());
  for (const nb::handle item : list) items.push_back(nb::borrow(item));
  return items;
}

/// dict[key] of a plain dictionary; an invalid handle: it has none.
nb::handle at(const nb::object& dict, nb::handle key) {
  PyObject* value = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  if (value == nullptr && PyErr_Occurred()) throw nb::python_error();
  return value;
}

/// Plain dictionaries with so many keys.
bool are_dicts(const Values& samples, Py_ssize_t keys) {
  for (const nb::object& sample : samples)
    if (!PyDict_CheckExact(sample.ptr()) || PyDict_GET_SIZE(sample.ptr()) != keys) return false;
  return true;
}

nb::object collated_dicts(const Values& samples, const Combine& combine) {
  if (!are_dicts(samples, PyDict_GET_SIZE(samples.front().ptr()))) return nb::none();
  const nb::object keys = nb::steal(PyDict_Keys(samples.front().ptr()));
  nb::dict columns;
  for (const nb::handle key : keys) {
    Values values;
    for (const nb::object& sample : samples) {
      const nb::handle value = at(sample, key);
      if (!value.is_valid()) return nb::none();
      values.push_back(nb::borrow(value));
    }
    columns[key] = combine.column(values);
  }
  return columns;
}

nb::object collated_tuples(const Values& samples, const Combine& combine) {
  const Py_ssize_t length = PyTuple_GET_SIZE(samples.front().ptr());
  for (const nb::object& sample : samples)
    if (!PyTuple_CheckExact(sample.ptr()) || PyTuple_GET_SIZE(sample.ptr()) != length)
      return nb::none();
  if (length == 0) return nb::none();
  nb::list columns;
  for (Py_ssize_t i = 0; i < length; ++i) {
    Values values;
    for (const nb::object& sample : samples)
      values.push_back(nb::borrow(PyTuple_GET_ITEM(sample.ptr(), i)));
    columns.append(combine.column(values));
  }
  return nb::tuple(columns);
}

nb::object collate(const nb::list& list, bool tensors, bool scalars, nb::object others) {
  const Values samples = items_of(list);
  const Combine combine{tensors, scalars, std::move(others)};
  if (samples.empty()) return nb::none();
  if (PyDict_CheckExact(samples.front().ptr())) return collated_dicts(samples, combine);
  if (PyTuple_CheckExact(samples.front().ptr())) return collated_tuples(samples, combine);
  return nb::none();
}

}  // namespace

void bind_webdataset_collation(nb::module_& module) {
  module.def("collate", &collate, nb::arg("samples"), nb::arg("tensors"), nb::arg("scalars"),
             nb::arg("others"));
}

}  // namespace headrace::python
