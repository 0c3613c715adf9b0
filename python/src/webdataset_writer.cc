// format/tar_writer.h for headrace.webdataset.TarWriter: samples as Python dictionaries go in, the
// bytes of an archive come out, a piece of about 1 MiB at a time.
//
//   {"__key__": "n01/a", "jpg": b"…", "cls": 3} ──▶ members sorted by name ──▶ sink(bytes)
//                                     └─ encode(3, "cls") is asked: neither bytes nor str
//
// Thread-safety: the GIL is held throughout; one thread a writer.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "bindings.h"
#include "format/tar_writer.h"

namespace headrace::python {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

/// The bytes of a Python object, which stays alive and unchanged as long as this does.
class Payload {
 public:
  explicit Payload(nb::object object) : object_(std::move(object)) {
    Py_ssize_t size = 0;
    if (PyBytes_Check(object_.ptr())) {
      char* data = nullptr;
      PyBytes_AsStringAndSize(object_.ptr(), &data, &size);
      bytes_ = {data, static_cast<size_t>(size)};
    } else if (PyUnicode_Check(object_.ptr())) {
      const char* data = PyUnicode_AsUTF8AndSize(object_.ptr(), &size);
      if (data == nullptr) throw nb::python_error();
      bytes_ = {data, static_cast<size_t>(size)};
    } else {
      if (PyObject_GetBuffer(object_.ptr(), &buffer_.emplace(), PyBUF_SIMPLE) != 0) {
        buffer_.reset();
        throw nb::python_error();
      }
      bytes_ = {static_cast<const char*>(buffer_->buf), static_cast<size_t>(buffer_->len)};
    }
  }
  ~Payload() {
    if (buffer_) PyBuffer_Release(&*buffer_);
  }
  Payload(Payload&& other) noexcept
      : object_(std::move(other.object_)),
        buffer_(std::exchange(other.buffer_, std::nullopt)),
        bytes_(other.bytes_) {}
  Payload& operator=(Payload&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(buffer_, other.buffer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::string_view bytes() const { return bytes_; }

 private:
  nb::object object_;
  std::optional<Py_buffer> buffer_;
  std::string_view bytes_;
};

struct Member {
  std::string name;
  Payload payload;
};

/// As file names are encoded: surrogate escapes are the bytes that they stand for.
std::string file_name(nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) {
    throw nb::type_error("the keys of a sample, and its __key__, must be of type str");
  }
  Py_ssize_t size = 0;
  if (const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
    return {data, static_cast<size_t>(size)};
  PyErr_Clear();
  const nb::object bytes = nb::steal(PyUnicode_EncodeFSDefault(text.ptr()));
  char* data = nullptr;
  if (!bytes.is_valid() || PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0)
    throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

[[noreturn]] void value_error(const std::string& message) {
  throw nb::value_error(message.c_str());
}

bool is_buffer(nb::handle value) {
  return PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr()) ||
         PyMemoryView_Check(value.ptr());
}

void check_name(const std::string& name) {
  if (name.find('\0') != name.npos || name.back() == '/')
    value_error("no member of a tar can be named \"" + name + "\"");
}

uint64_t now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

class SampleWriter {
 public:
  SampleWriter(nb::object sink, std::string user, std::string group, uint32_t mode,
               std::optional<uint64_t> mtime)
      : sink_(std::move(sink)), mtime_(mtime) {
    attributes_.mode = mode;
    attributes_.user = std::move(user);
    attributes_.group = std::move(group);
    if (attributes_.user.find('\0') != std::string::npos ||
        attributes_.group.find('\0') != std::string::npos)
      value_error("a NUL byte in the name of a user or group");
    if (mtime_.value_or(0) > kLargestTarTime) value_error("mtime is beyond what a tar can hold");
    buffer_.reserve(kPiece + (kPiece >> 2));
  }

  /// Bytes of content written. Nothing is written when it raises, unless the sink does.
  uint64_t write(const nb::dict& sample, const nb::object& encode, bool keep_meta) {
    std::vector<Member> members = members_of(sample, encode, keep_meta);
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.name < b.name; });
    attributes_.mtime = mtime_ ? *mtime_ : now();
    uint64_t total = 0;
    for (const Member& member : members) {
      append(member);
      total += member.payload.bytes().size();
    }
    return total;
  }

  void finish() {
    append_tar_end(buffer_);
    flush();
  }

 private:
  std::vector<Member> members_of(const nb::dict& sample, nb::handle encode, bool keep_meta) {
    std::vector<Member> members;
    nb::object key;
    const nb::list items = sample.items();  // encoders may change the dictionary
    members.reserve(items.size());
    for (nb::handle item : items) {
      const nb::object field = item[0];
      nb::object value = item[1];
      std::string name = file_name(field);
      if (name.empty()) value_error("a field of the sample has no name");
      const bool meta = name.starts_with('_');
      const bool text = PyUnicode_Check(value.ptr()) && (meta || !encode.is_none());
      if (!encode.is_none()) value = encoded(name, field, std::move(value), encode);
      if (!is_buffer(value) && !(text && PyUnicode_Check(value.ptr())) && !(meta && !keep_meta))
        value_error(name + " is not bytes after encoding but " +
                    nb::cast<std::string>(nb::str(value.type())));
      if (name == "__key__")
        key = std::move(value);
      else if (!meta || keep_meta)
        members.push_back({std::move(name), Payload(std::move(value))});
    }
    if (!key.is_valid()) value_error("the sample has no __key__");
    const std::string stem = file_name(key) + '.';
    for (Member& member : members) {
      member.name.insert(0, stem);
      check_name(member.name);
    }
    return members;
  }

  /// Bytes and text go as they are; everything else is the encoder's business.
  static nb::object encoded(const std::string& name, nb::handle field, nb::object value,
                            nb::handle encode) {
    const bool as_it_is =
        PyUnicode_Check(value.ptr()) || (PyBytes_Check(value.ptr()) && !name.starts_with('_'));
    if (as_it_is && !name.ends_with(".gz")) return value;
    return nb::borrow(encode)(value, field);
  }

  void append(const Member& member) {
    const std::string_view bytes = member.payload.bytes();
    append_tar_header(buffer_, member.name, bytes.size(), attributes_);
    if (bytes.size() >= kPiece) {
      flush();
      put(bytes);
    } else {
      buffer_ += bytes;
    }
    buffer_.append(tar_padding(bytes.size()), '\0');
    if (buffer_.size() >= kPiece) flush();
  }

  void flush() {
    put(buffer_);
    buffer_.clear();
  }

  /// An unbuffered file may take a part only, and says how much.
  void put(std::string_view bytes) {
    while (!bytes.empty()) {
      const nb::object taken = sink_(nb::bytes(bytes.data(), bytes.size()));
      const bool part = PyLong_Check(taken.ptr()) && nb::cast<int64_t>(taken) >= 0 &&
                        nb::cast<uint64_t>(taken) < bytes.size();
      bytes.remove_prefix(part ? nb::cast<size_t>(taken) : bytes.size());
    }
  }

  nb::object sink_;
  TarAttributes attributes_;
  std::optional<uint64_t> mtime_;
  std::string buffer_;
};

}  // namespace

void bind_webdataset_writer(nb::module_& module) {
  nb::class_<SampleWriter>(module, "SampleWriter")
      .def(nb::init<nb::object, std::string, std::string, uint32_t, std::optional<uint64_t>>(),
           nb::arg("sink"), nb::arg("user"), nb::arg("group"), nb::arg("mode"),
           nb::arg("mtime").none())
      .def("write", &SampleWriter::write, nb::arg("sample"), nb::arg("encode").none(),
           nb::arg("keep_meta"))
      .def("finish", &SampleWriter::finish);
}

}  // namespace headrace::python
