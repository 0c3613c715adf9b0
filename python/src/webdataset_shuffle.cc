// The shuffle buffer of WebDataset: takes two items for one while it fills, gives once `initial`
// are held, then drains at random. Of Python objects, or of records.
//
// The draws are those of random.Random.randint(0, n - 1), bit for bit, so that a seed gives the
// order that it always gave: getrandbits(bits of n) again until the number is below n.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.h"
#include "webdataset_records.h"

namespace headrace::python {
namespace {

template <typename Item>
class Buffer {
 public:
  Buffer(int64_t size, int64_t initial, nb::object getrandbits)
      : size_(size), initial_(std::min(size, initial)), getrandbits_(std::move(getrandbits)) {}

  /// The next item; `source` gives those to shuffle. Nothing: the end.
  template <typename Source>
  std::optional<Item> next(const Source& source) {
    while (!ended_) {
      if (!take(source)) break;
      if (held() < size_) take(source);
      if (held() >= initial_) return give();
    }
    if (buffer_.empty()) return std::nullopt;
    return give();
  }

 private:
  int64_t held() const { return static_cast<int64_t>(buffer_.size()); }

  template <typename Source>
  bool take(const Source& source) {
    if (ended_) return false;
    std::optional<Item> item = source();
    ended_ = !item;
    if (item) buffer_.push_back(*std::move(item));
    return !ended_;
  }

  Item give() {
    const size_t chosen = draw(buffer_.size());
    Item item = std::move(buffer_[chosen]);
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

  const int64_t size_;
  const int64_t initial_;
  const nb::object getrandbits_;
  std::vector<Item> buffer_;
  bool ended_ = false;
};

class ShuffleBuffer {
 public:
  ShuffleBuffer(nb::object items, int64_t size, int64_t initial, nb::object getrandbits)
      : items_(std::move(items)), buffer_(size, initial, std::move(getrandbits)) {}

  nb::object next() {
    std::optional<nb::object> item = buffer_.next([this]() -> std::optional<nb::object> {
      PyObject* one = PyIter_Next(items_.ptr());
      if (one == nullptr && PyErr_Occurred()) throw nb::python_error();
      return one == nullptr ? std::nullopt : std::optional(nb::steal(one));
    });
    if (!item) throw nb::stop_iteration();
    return *std::move(item);
  }

 private:
  const nb::object items_;
  Buffer<nb::object> buffer_;
};

class ShuffledRecords final : public RecordStream {
 public:
  ShuffledRecords(nb::object records, int64_t size, int64_t initial, nb::object getrandbits)
      : owner_(std::move(records)),
        records_(nb::cast<RecordStream&>(owner_)),
        buffer_(size, initial, std::move(getrandbits)) {}

  std::optional<Record> next() override {
    return buffer_.next([this] { return records_.next(); });
  }

 private:
  const nb::object owner_;
  RecordStream& records_;
  Buffer<Record> buffer_;
};

}  // namespace

void bind_webdataset_shuffle(nb::module_& module) {
  nb::class_<ShuffleBuffer>(module, "ShuffleBuffer", "Items of an iterator, shuffled in a buffer.")
      .def(nb::init<nb::object, int64_t, int64_t, nb::object>(), nb::arg("items"), nb::arg("size"),
           nb::arg("initial"), nb::arg("getrandbits"))
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &ShuffleBuffer::next);
  nb::class_<ShuffledRecords, RecordStream>(module, "ShuffledRecords", "The same of records.")
      .def(nb::init<nb::object, int64_t, int64_t, nb::object>(), nb::arg("records"),
           nb::arg("size"), nb::arg("initial"), nb::arg("getrandbits"));
}

}  // namespace headrace::python
