// Samples of a tar archive as the dictionaries that WebDataset's users know, and its members.
//
// Parsing and reading run without the GIL; Python objects are made for what the caller gets and
// for nothing else. Grouping is that of format/key_rule.h. One object reads one archive.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "format/key_rule.h"
#include "io/system_error.h"
#include "stream/tar_stream.h"

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
  if (size > into.size()) throw nb::value_error("read(n) gave more than n bytes");
  return size;
}

/// `source`: a descriptor, or an object with read(n).
ReadSome reader_of(const nb::object& source) {
  if (nb::isinstance<nb::int_>(source)) {
    const int descriptor = nb::cast<int>(source);
    return [descriptor](MutableBytes into) { return read_descriptor(descriptor, into); };
  }
  nb::object read = source.attr("read");
  return [read](MutableBytes into) { return Result<size_t>(read_object(read, into)); };
}

[[noreturn]] void raise_as(nb::handle type, const std::string& text) {
  PyErr_SetObject(type.ptr(), to_str(text).ptr());
  throw nb::python_error();
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

/// What both iterators share: the members that are regular files, renamed and selected.
class Members {
 public:
  Members(const nb::object& source, nb::object select, nb::object rename, bool lenient,
          bool skip_meta)
      : skip_meta_(skip_meta),
        stream_(reader_of(source), lenient),
        select_(std::move(select)),
        rename_(std::move(rename)) {}

  /// The next one, or nothing at the end.
  const TarStream::Member* next() {
    for (;;) {
      Result<const TarStream::Member*> member = stream_.next();
      if (!member.ok()) raise_read_error(member.error());
      if (*member == nullptr) return nullptr;
      name_ = (*member)->name;
      if ((*member)->type != TarType::kRegular || (skip_meta_ && is_metadata(name_))) continue;
      if (is_wanted()) return *member;
    }
  }

  const std::string& name() const { return name_; }

 private:
  bool is_wanted() {
    if (!rename_.is_none()) name_ = text_of(rename_(to_str(name_)));
    return select_.is_none() || nb::cast<bool>(nb::bool_(select_(to_str(name_))));
  }

  /// The bytes of a str that may hold surrogate escapes.
  static std::string text_of(const nb::object& text) {
    PyObject* bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape");
    if (bytes == nullptr) throw nb::python_error();
    const nb::bytes held = nb::steal<nb::bytes>(bytes);
    return {held.c_str(), held.size()};
  }

  const bool skip_meta_;
  TarStream stream_;
  const nb::object select_;
  const nb::object rename_;
  std::string name_;
};

/// Only one thread at a time, as with a generator.
class Turn {
 public:
  explicit Turn(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
    if (!lock_) throw nb::value_error("the iterator is in use by another thread");
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

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

/// Field names as Python strings, made once: samples of a shard have the same few.
class FieldNames {
 public:
  nb::handle get(const std::string& name) {
    for (const auto& [known, text] : names_)
      if (known == name) return text;
    if (names_.size() == kMost) names_.clear();
    nb::object text = to_str(name);
    // str.lower() knows more letters than ASCII.
    for (const char c : name) {
      if (static_cast<unsigned char>(c) < 0x80) continue;
      text = text.attr("lower")();
      break;
    }
    names_.emplace_back(name, std::move(text));
    return names_.back().second;
  }

 private:
  static constexpr size_t kMost = 64;
  std::vector<std::pair<std::string, nb::object>> names_;
};

class TarSamples {
 public:
  TarSamples(const nb::object& source, nb::object url, nb::object local_path, nb::object select,
             nb::object rename, bool lenient)
      : members_(source, std::move(select), std::move(rename), lenient, true),
        url_(std::move(url)),
        local_path_(std::move(local_path)),
        key_name_(nb::str("__key__")),
        url_name_(nb::str("__url__")),
        path_name_(nb::str("__local_path__")),
        bad_name_(nb::str("__bad__")) {}

  nb::object next() {
    const Turn turn(mutex_);
    if (duplicate_) raise_duplicate();
    for (;;) {
      const TarStream::Member* member = members_.next();
      if (member == nullptr) {
        nb::object last = take();
        if (last.is_valid()) return last;
        throw nb::stop_iteration();
      }
      if (!unwrap(rule_.split(members_.name(), split_))) continue;
      nb::object finished;
      if (!sample_.is_valid() || split_.key != key_) {
        finished = take();
        begin();
      }
      duplicate_ = !add(member->data);
      if (finished.is_valid()) return finished;
      if (duplicate_) raise_duplicate();
    }
  }

  /// What there is of the sample at an error; None if nothing.
  nb::object partial() {
    nb::object sample = take();
    return sample.is_valid() ? sample : nb::none();
  }

 private:
  void begin() {
    key_ = split_.key;
    sample_ = nb::dict();
    set(key_name_, to_str(key_));
    if (!url_.is_none()) set(url_name_, url_);
  }

  /// False if the sample has such a field already.
  bool add(ByteView data) {
    const nb::handle name = names_.get(split_.field);
    const int there = PyDict_Contains(sample_.ptr(), name.ptr());
    if (there < 0) throw nb::python_error();
    if (there > 0) return false;
    set(name, to_bytes(data));
    if (!local_path_.is_none()) set(path_name_, local_path_);
    return true;
  }

  [[noreturn]] void raise_duplicate() {
    duplicate_ = false;
    raise_as(PyExc_ValueError, members_.name() + ": duplicate file name in tar file");
  }

  void set(nb::handle name, nb::handle value) {
    if (PyDict_SetItem(sample_.ptr(), name.ptr(), value.ptr()) != 0) throw nb::python_error();
  }

  /// The sample so far, unless there is none or it is marked as bad.
  nb::object take() {
    if (!sample_.is_valid()) return {};
    nb::object sample = std::move(sample_);
    const int bad = PyDict_Contains(sample.ptr(), bad_name_.ptr());
    if (bad < 0) throw nb::python_error();
    if (bad > 0) return {};
    return sample;
  }

  std::mutex mutex_;
  Members members_;
  const nb::object url_;
  const nb::object local_path_;
  const nb::str key_name_;
  const nb::str url_name_;
  const nb::str path_name_;
  const nb::str bad_name_;
  const KeyRule rule_;
  KeyField split_;
  FieldNames names_;
  std::string key_;
  nb::object sample_;
  bool duplicate_ = false;  ///< the member just read could not be added, which is yet to be said
};

}  // namespace

void bind_webdataset_reader(nb::module_& module) {
  nb::class_<TarMembers>(module, "TarMembers", "(name, bytes) of the regular files of an archive.")
      .def(nb::init<const nb::object&, nb::object, nb::object, bool, bool>(), nb::arg("source"),
           nb::arg("select").none(), nb::arg("rename").none(), nb::arg("lenient"),
           nb::arg("skip_meta"))
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &TarMembers::next);

  nb::class_<TarSamples>(module, "TarSamples", "The samples of an archive as dictionaries.")
      .def(nb::init<const nb::object&, nb::object, nb::object, nb::object, nb::object, bool>(),
           nb::arg("source"), nb::arg("url").none(), nb::arg("local_path").none(),
           nb::arg("select").none(), nb::arg("rename").none(), nb::arg("lenient"))
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &TarSamples::next)
      .def("partial", &TarSamples::partial);
}

}  // namespace headrace::python
