// The shuffle buffer of WebDataset: takes two items for one while it fills, gives once `initial`
// are held, then drains at random. Any Python objects.
//
// The draws are those of random.Random.randint(0, n - 1), bit for bit, so that a seed gives the
// order that it always gave: getrandbits(bits of n) again until the number is below n.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings.h"

namespace headrace::python {
namespace {

class ShuffleBuffer {
 public:
  ShuffleBuffer(nb::object items, int64_t size, int64_t initial, const nb::object& getrandbits)
      : items_(std::move(items)),
        size_(size),
        initial_(std::min(size, initial)),
        getrandbits_(getrandbits) {}

  nb::object next() {
    while (!ended_) {
      if (!take()) break;
      if (held() < size_) take();
      if (held() >= initial_) return give();
    }
    if (buffer_.empty()) throw nb::stop_iteration();
    return give();
  }

 private:
  int64_t held() const { return static_cast<int64_t>(buffer_.size()); }

  bool take() {
    if (ended_) return false;
    PyObject* item = PyIter_Next(items_.ptr());
    if (item == nullptr) {
      if (PyErr_Occurred()) throw nb::python_error();
      ended_ = true;
      return false;
    }
    buffer_.push_back(nb::steal(item));
    return true;
  }

  nb::object give() {
    const size_t chosen = draw(buffer_.size());
    nb::object item = std::exchange(buffer_[chosen], nb::object());
    if (chosen + 1 != buffer_.size()) buffer_[chosen] = std::move(buffer_.back());
    buffer_.pop_back();
    return item;
  }

  size_t draw(size_t below) {
    const auto bits = nb::int_(std::bit_width(below));
    for (;;) {
      const auto drawn = nb::cast<uint64_t>(getrandbits_(bits));
      if (drawn < below) return drawn;
    }
  }

  const nb::object items_;
  const int64_t size_;
  const int64_t initial_;
  const nb::object getrandbits_;
  std::vector<nb::object> buffer_;
  bool ended_ = false;
};

}  // namespace

void bind_webdataset_shuffle(nb::module_& module) {
  nb::class_<ShuffleBuffer>(module, "ShuffleBuffer", "Items of an iterator, shuffled in a buffer.")
      .def(nb::init<nb::object, int64_t, int64_t, const nb::object&>(), nb::arg("items"),
           nb::arg("size"), nb::arg("initial"), nb::arg("getrandbits"))
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &ShuffleBuffer::next);
}

}  // namespace headrace::python
