// headrace/result.h and the small things: errors, text, sizes.
#include "headrace/result.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "base/units.h"
#include "bindings.h"

namespace headrace::python {

nb::str to_str(std::string_view text) {
  PyObject* object =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (object == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(object);
}

std::string from_str(nb::handle text) {
  const nb::object bytes =
      nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  const auto held = nb::borrow<nb::bytes>(bytes);
  return {held.c_str(), held.size()};
}

nb::bytes to_bytes(ByteView bytes) { return nb::bytes(bytes.data(), bytes.size()); }

nb::object to_origin(const Origin& origin) {
  const bool known = origin.offset != Origin::kNoOffset;
  return nb::module_::import_("headrace.errors")
      .attr("Origin")(to_str(origin.shard), to_str(origin.member),
                      known ? nb::object(nb::int_(origin.offset)) : nb::object(nb::none()));
}

nb::object exception_of(const Error& error) {
  return nb::module_::import_("headrace.errors")
      .attr("from_native")(code_name(error.code), to_str(error.message), to_origin(error.origin),
                           to_str(error.hint));
}

void raise(const Error& error) {
  nb::object exception = exception_of(error);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

void raise_usage(std::string message, std::string hint) {
  Error error;
  error.code = Code::kUsage;
  error.message = std::move(message);
  error.hint = std::move(hint);
  raise(error);
}

void bind_result(nb::module_& module) {
  module.def("parse_bytes", [](std::string_view text) { return unwrap(parse_bytes(text)); });
  module.def("format_bytes", &format_bytes);
}

}  // namespace headrace::python
