// PicturesAhead decodes the pictures of the next samples in threads while the caller works:
//
//   iterator --> [sample | sample | sample | sample] --> (sample, {field: array})
//                     threads decode their pictures, without the GIL
//
// A picture that is missing there is one for Pillow.
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.h"
#include "webdataset_pictures.h"

namespace headrace::python {
namespace {

/// Samples of an iterator, each with its decoded pictures. An error of the iterator comes after
/// the samples before it.
class PicturesAhead {
 public:
  PicturesAhead(nb::object samples, nb::object pictures, nb::object is_picture, int threads)
      : samples_(std::move(samples)),
        is_picture_(std::move(is_picture)),
        depth_(2 * static_cast<size_t>(threads) + 1),
        work_(std::move(pictures), threads) {}

  nb::tuple next() {
    while (!ended_ && ahead_.size() < depth_) fetch();
    if (ahead_.empty()) finish();
    for (const std::unique_ptr<Field>& field : ahead_.front().fields) work_.wait(field->job);
    const Entry entry = std::move(ahead_.front());
    ahead_.pop_front();
    nb::dict ready;
    for (const std::unique_ptr<Field>& field : entry.fields)
      if (field->job.decoded) ready[field->name] = picture_array(field->job.rows, field->job.index);
    return nb::make_tuple(entry.sample, ready);
  }

 private:
  struct Field {
    nb::object name;
    nb::object file;  // whose bytes the job reads
    PictureJob job;
  };
  struct Entry {
    nb::object sample;
    std::vector<std::unique_ptr<Field>> fields;
  };

  void fetch() {
    PyObject* item = PyIter_Next(samples_.ptr());
    if (item == nullptr) {
      ended_ = true;
      if (PyErr_Occurred()) error_.emplace();
      return;
    }
    Entry entry;
    entry.sample = nb::steal(item);
    if (PyDict_Check(entry.sample.ptr())) {
      PyObject* field = nullptr;
      PyObject* value = nullptr;
      Py_ssize_t place = 0;
      while (PyDict_Next(entry.sample.ptr(), &place, &field, &value))
        if (PyBytes_Check(value) && is_picture(field)) add(entry, field, value);
    }
    ahead_.push_back(std::move(entry));
    for (const std::unique_ptr<Field>& field : ahead_.back().fields) work_.ask(field->job);
  }

  static void add(Entry& entry, nb::handle name, nb::handle file) {
    auto field = std::make_unique<Field>();
    field->name = nb::borrow(name);
    field->file = nb::borrow(file);
    field->job.file = {reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(file.ptr())),
                       static_cast<size_t>(PyBytes_GET_SIZE(file.ptr()))};
    entry.fields.push_back(std::move(field));
  }

  bool is_picture(nb::handle field) {
    nb::object name = nb::borrow(field);
    const nb::object known = nb::steal(PyObject_CallMethod(kinds_.ptr(), "get", "O", name.ptr()));
    if (known.is_valid() && !known.is_none()) return known.is(nb::handle(Py_True));
    const bool yes = nb::cast<bool>(nb::bool_(is_picture_(name)));
    kinds_[name] = nb::bool_(yes);
    return yes;
  }

  [[noreturn]] void finish() {
    if (!error_) throw nb::stop_iteration();
    auto error = std::exchange(error_, std::nullopt);
    throw nb::python_error(std::move(*error));
  }

  const nb::object samples_;
  const nb::object is_picture_;
  nb::dict kinds_;
  const size_t depth_;
  std::deque<Entry> ahead_;
  bool ended_ = false;
  std::optional<nb::python_error> error_;
  PictureWork work_;  // goes first: it looks into `ahead_`
};

}  // namespace

void bind_webdataset_ahead(nb::module_& module) {
  nb::class_<PicturesAhead>(module, "PicturesAhead", "Samples with their pictures, decoded ahead.")
      .def(nb::init<nb::object, nb::object, nb::object, int>(), nb::arg("samples"),
           nb::arg("pictures"), nb::arg("is_picture"), nb::arg("threads"))
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &PicturesAhead::next);
}

}  // namespace headrace::python
