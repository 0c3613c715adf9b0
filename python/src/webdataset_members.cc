#include "webdataset_members.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "io/system_error.h"
#include "object_stream.h"

namespace headrace::python {
namespace {

/// Reads a file descriptor that Python owns.
Result<size_t> read_descriptor(int descriptor, MutableBytes into) {
  nb::gil_scoped_release unlocked;
  for (;;) {
    const ssize_t got = ::read(descriptor, into.data(), into.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return system_error("read", "", errno);
  }
}

/// Calls read(n) of a Python file object, whose exceptions pass through.
size_t read_object(const nb::object& read, MutableBytes into) {
  const nb::object piece = read(into.size());
  Py_buffer view;
  if (PyObject_GetBuffer(piece.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  const auto size = static_cast<size_t>(view.len);
  if (size <= into.size()) std::memcpy(into.data(), view.buf, size);
  PyBuffer_Release(&view);
  if (size > into.size()) raise_as(PyExc_ValueError, "read(n) gave more than n bytes");
  return size;
}

ReadSome reader_of(const nb::object& source) {
  if (nb::isinstance<nb::int_>(source)) {
    const int descriptor = nb::cast<int>(source);
    return [descriptor](MutableBytes into) { return read_descriptor(descriptor, into); };
  }
  if (nb::isinstance<ObjectReader>(source)) {
    // Held by the closure, so that it lives as long.
    return [source](MutableBytes into) {
      return Result<size_t>(nb::cast<ObjectReader&>(source).read(into));
    };
  }
  nb::object read = source.attr("read");
  return [read](MutableBytes into) { return Result<size_t>(read_object(read, into)); };
}

/// tarfile.ReadError, which scripts written for WebDataset catch.
[[noreturn]] void raise_read_error(const Error& error) {
  if (error.code != Code::kCorrupt) raise(error);
  raise_as(nb::module_::import_("tarfile").attr("ReadError"), error.to_string());
}

bool is_metadata(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

class TarMembers {
 public:
  TarMembers(const nb::object& source, nb::object select, nb::object rename, bool lenient,
             bool skip_meta)
      : members_(source, std::move(select), std::move(rename), lenient, skip_meta) {}

  nb::tuple next() {
    const Turn turn(mutex_);
    const TarStream::Member* member = members_.next();
    if (member == nullptr) throw nb::stop_iteration();
    return nb::make_tuple(to_str(members_.name()), to_bytes(member->data));
  }

 private:
  std::mutex mutex_;
  Members members_;
};

}  // namespace

void raise_as(nb::handle type, const std::string& text) {
  PyErr_SetObject(type.ptr(), to_str(text).ptr());
  throw nb::python_error();
}

Members::Members(const nb::object& source, nb::object select, nb::object rename, bool lenient,
                 bool skip_meta)
    : skip_meta_(skip_meta),
      stream_(reader_of(source), lenient),
      select_(std::move(select)),
      rename_(std::move(rename)) {}

const TarStream::Member* Members::next() {
  for (;;) {
    Result<const TarStream::Member*> member = stream_.next();
    if (!member.ok()) raise_read_error(member.error());
    if (*member == nullptr) return nullptr;
    name_ = (*member)->name;
    if ((*member)->type != TarType::kRegular || (skip_meta_ && is_metadata(name_))) continue;
    if (is_wanted()) return *member;
  }
}

bool Members::is_wanted() {
  if (!rename_.is_none()) name_ = from_str(rename_(to_str(name_)));
  return select_.is_none() || nb::cast<bool>(nb::bool_(select_(to_str(name_))));
}

void bind_webdataset_members(nb::module_& module) {
  nb::class_<TarMembers>(module, "TarMembers", "(name, bytes) of the regular files of an archive.")
      .def(nb::init<const nb::object&, nb::object, nb::object, bool, bool>(), nb::arg("source"),
           nb::arg("select").none(), nb::arg("rename").none(), nb::arg("lenient"),
           nb::arg("skip_meta"))
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &TarMembers::next);
}

}  // namespace headrace::python
