// headrace/store.h: one object read from front to back, or written.
#include "object_stream.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>

#include "base/try.h"
#include "headrace/store.h"
#include "interruptible.h"
#include "io/http/put.h"
#include "io/urls.h"

namespace headrace::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignals(100);

/// As OSError, which those who read files expect.
[[noreturn]] void raise_os_error(const Error& error) {
  const nb::object exception = exception_of(error);
  const bool fits = PyObject_IsInstance(exception.ptr(), PyExc_OSError) == 1;
  PyErr_SetObject(fits ? exception.type().ptr() : PyExc_OSError,
                  fits ? exception.ptr() : to_str(error.to_string()).ptr());
  throw nb::python_error();
}

/// A usage error stays one: whoever opens may try in another way.
template <typename T>
T opened(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  if (result.error().code == Code::kUsage) raise(result.error());
  raise_os_error(result.error());
}

void must(const Status& status) {
  if (!status.ok()) raise_os_error(status.error());
}

void check_process(pid_t opened_in) {
  if (opened_in == ::getpid()) return;
  Error error;
  error.message = "this stream was opened before the process forked";
  error.hint = "Open it in the process that uses it.";
  raise_os_error(error);
}

std::shared_ptr<const ByteSource> open_source(const std::string& location) {
  return opened(interruptible([&] { return open_url(location); }));
}

/// The bytes of a Python object, for as long as this lives.
class Buffer {
 public:
  Buffer(const nb::object& object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  MutableBytes bytes() const {
    return {static_cast<std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

/// Writes one object, which is there, whole, after close(). Dropped without it: nothing is.
class ObjectWriter {
 public:
  explicit ObjectWriter(const std::string& location) {
    sink_ = opened([&] {
      nb::gil_scoped_release unlocked;
      return create(location);
    }());
  }
  ~ObjectWriter() {
    // A child has not begun the upload, and must not give it up.
    if (opened_in_ != ::getpid()) static_cast<void>(sink_.release());
  }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  size_t write(const nb::object& data) {
    const Turn turn(turn_);
    check_open();
    const Buffer buffer(data, PyBUF_SIMPLE);
    auto status = [&] {
      nb::gil_scoped_release unlocked;
      return sink_->append(buffer.bytes());
    }();
    must(status);
    return buffer.bytes().size();
  }

  void close() {
    const Turn turn(turn_);
    check_open();
    auto status = [&] {
      nb::gil_scoped_release unlocked;
      Status done = sink_->commit();
      if (done.ok() && store_) done = store_->publish();
      sink_.reset();
      return done;
    }();
    must(status);
  }

  void abandon() {
    const Turn turn(turn_);
    check_process(opened_in_);
    nb::gil_scoped_release unlocked;
    sink_.reset();
  }

 private:
  Result<std::unique_ptr<ByteSink>> create(const std::string& location) {
    const std::string scheme = url_scheme(location);
    if (scheme == "http" || scheme == "https") return put_address(location);
    const ObjectPlace place = split_location(location);
    HR_TRY(store_, open_store(place.folder));
    return store_->create(place.name);
  }

  void check_open() const {
    check_process(opened_in_);
    if (!sink_) throw nb::value_error("I/O operation on closed file");
  }

  const pid_t opened_in_ = ::getpid();
  std::mutex turn_;
  std::shared_ptr<Store> store_;  // none of a web server: an address is written to by itself
  std::unique_ptr<ByteSink> sink_;
};

}  // namespace

ObjectReader::ObjectReader(const std::string& location) : stream_(open_source(location)) {}

size_t ObjectReader::read(MutableBytes into) {
  check_process(opened_in_);
  const Turn turn(turn_);
  for (bool ready = false; !ready;) {
    {
      nb::gil_scoped_release unlocked;
      ready = stream_.wait(kBetweenSignals);
    }
    if (!ready && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  auto got = [&] {
    nb::gil_scoped_release unlocked;
    return stream_.read(into);
  }();
  if (!got.ok()) raise_os_error(got.error());
  return *got;
}

void ObjectReader::seek(uint64_t position) {
  const Turn turn(turn_);
  stream_.seek(position);
}

void bind_object_stream(nb::module_& module) {
  nb::class_<ObjectReader>(module, "ObjectReader", "An object of a store, read front to back.")
      .def(nb::init<const std::string&>(), nb::arg("location"))
      .def("readinto",
           [](ObjectReader& self, const nb::object& into) {
             const Buffer buffer(into, PyBUF_WRITABLE);
             return self.read(buffer.bytes());
           })
      .def("seek", &ObjectReader::seek)
      .def("tell", &ObjectReader::tell)
      .def_prop_ro("size", &ObjectReader::size);
  nb::class_<ObjectWriter>(module, "ObjectWriter", "An object of a store, written whole or not.")
      .def(nb::init<const std::string&>(), nb::arg("location"))
      .def("write", &ObjectWriter::write)
      .def("close", &ObjectWriter::close)
      .def("abandon", &ObjectWriter::abandon);
}

}  // namespace headrace::python
