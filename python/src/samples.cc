// Samples one by one: the Sample object, and the iterator behind Dataset.samples().
//
// The iterator reads spans of about a mebibyte of a shard at once and hands out places in them, so
// that a small sample costs one Python object and no read of its own:
//
//   shard  | s0 | s1 | s2 | s3 | s4 | s5 | s6 | ...
//          |<--- one read ---->|<--- the next --->|
//
// Two spans take turns: a span is filled again once no sample refers to it any more.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <tuple>

#include "base/try.h"
#include "bindings.h"
#include "format/shard_index.h"
#include "handles.h"
#include "interruptible.h"

namespace headrace::python {

std::string_view PySample::key() const {
  if (span_) return span_->index->key(number_);
  return alone_ ? std::string_view(alone_->key()) : std::string_view();
}

std::vector<std::string_view> PySample::fields() const {
  std::vector<std::string_view> names;
  if (span_) {
    for (const IndexMember& member : span_->index->members(number_)) {
      names.push_back(span_->index->fields()[member.field]);
    }
  } else if (alone_) {
    for (const Sample::Field& field : alone_->fields()) names.push_back(field.name);
  }
  return names;
}

std::optional<ByteView> PySample::find(std::string_view field) const {
  if (!span_) return alone_ ? alone_->find(field) : std::nullopt;
  const int number = span_->index->field_number(field);
  if (number < 0) return std::nullopt;
  const IndexMember* member = span_->index->find(number_, static_cast<uint32_t>(number));
  if (member == nullptr) return std::nullopt;
  return ByteView(span_->bytes).subspan(member->offset - span_->begin, member->size);
}

Origin PySample::origin() const {
  if (!span_) return alone_ ? alone_->origin() : Origin{};
  return Origin{span_->shard, std::string(key()), span_->index->sample_begin(number_)};
}

namespace {

constexpr uint64_t kSpanBytes = uint64_t{1} << 20;

/// Samples [position, end) of a data set, in manifest order. Any thread may take the next one.
class SampleIterator {
 public:
  SampleIterator(std::shared_ptr<const Dataset> set, uint64_t begin, uint64_t end)
      : set_(std::move(set)), position_(begin), end_(end) {}

  PySample next() {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
      nb::gil_scoped_release unlocked;  // its holder may need the GIL to finish
      lock.lock();
    }
    if (position_ >= end_) throw nb::stop_iteration();
    if (next_ == span_end_) {
      unwrap(interruptible(*set_, [&] { return advance(); }));
    }
    ++position_;
    if (alone_) {
      next_ = span_end_;
      return PySample(std::move(alone_));
    }
    return PySample(span_, next_++);
  }

 private:
  /// Reads the samples from `position_` on: a span of the archive, or one sample of loose files.
  Status advance() {
    const SampleId id = set_->locate(position_);
    if (!index_ || id.shard != shard_) HR_CHECK(enter(id.shard));
    if (!index_->is_archive()) {
      HR_TRY(Sample sample, set_->sample(id));
      alone_ = std::make_shared<const Sample>(std::move(sample));
      next_ = 0;
      span_end_ = 1;
      return {};
    }
    return read_span(id.sample);
  }

  Status enter(uint32_t shard) {
    HR_TRY(index_, set_->index(shard));
    HR_TRY(shard_name_, set_->shard_name(shard));
    if (index_->is_archive()) {
      HR_TRY(source_, set_->source(shard, *index_, 0));
    }
    shard_ = shard;
    return {};
  }

  Status read_span(uint32_t first) {
    const uint64_t begin = index_->sample_begin(first);
    const uint32_t limit =
        static_cast<uint32_t>(std::min<uint64_t>(index_->size(), first + (end_ - position_)));
    uint32_t last = first + 1;
    while (last < limit && index_->sample_end(last) - begin <= kSpanBytes) ++last;
    const uint64_t end = index_->sample_end(last - 1);

    std::shared_ptr<Span> span = free_span();
    span->index = index_;
    span->shard = shard_name_;
    span->begin = begin;
    span->bytes.resize(end - begin);
    HR_CHECK(source_->read_at(begin, span->bytes));
    if (last < limit) {
      const uint64_t rest = index_->sample_end(limit - 1) - end;
      source_->will_need(end, std::min(rest, kSpanBytes));
    }
    span_ = std::move(span);
    next_ = first;
    span_end_ = last;
    return {};
  }

  /// A span that no sample refers to: the one before the current one, or a new one.
  std::shared_ptr<Span> free_span() {
    span_.reset();
    std::rotate(pool_.begin(), pool_.begin() + 1, pool_.end());
    if (!pool_[0] || pool_[0].use_count() > 1) pool_[0] = std::make_shared<Span>();
    std::atomic_thread_fence(std::memory_order_acquire);  // after the last release of a sample
    return pool_[0];
  }

  std::mutex mutex_;
  const std::shared_ptr<const Dataset> set_;
  uint64_t position_;
  const uint64_t end_;

  uint32_t shard_ = 0;
  std::shared_ptr<const ShardIndex> index_;
  std::string shard_name_;
  std::shared_ptr<const ByteSource> source_;

  std::array<std::shared_ptr<Span>, 2> pool_;
  std::shared_ptr<const Span> span_;
  std::shared_ptr<const Sample> alone_;
  uint32_t next_ = 0;  ///< samples [next_, span_end_) of the shard are read
  uint32_t span_end_ = 0;
};

nb::bytes field_or_raise(const PySample& self, std::string_view name) {
  const std::optional<ByteView> bytes = self.find(name);
  if (!bytes) {
    std::string known;
    for (const std::string_view field : self.fields()) {
      known += (known.empty() ? "" : ", ") + std::string(field);
    }
    raise(Error{.code = Code::kNotFound,
                .message = "the sample has no field '" + std::string(name) + "'",
                .origin = self.origin(),
                .hint = "It has: " + known + "."});
  }
  return to_bytes(*bytes);
}

nb::list names(const PySample& self) {
  nb::list out;
  for (const std::string_view field : self.fields()) out.append(to_str(field));
  return out;
}

nb::list values(const PySample& self) {
  nb::list out;
  for (const std::string_view field : self.fields()) out.append(to_bytes(*self.find(field)));
  return out;
}

nb::list items(const PySample& self) {
  nb::list out;
  for (const std::string_view field : self.fields()) {
    out.append(nb::make_tuple(to_str(field), to_bytes(*self.find(field))));
  }
  return out;
}

// key, shard, member, offset, (field, bytes)…
using Pickled = std::tuple<nb::bytes, nb::bytes, nb::bytes, uint64_t, nb::list>;

Pickled pickled(const PySample& self) {
  const auto raw = [](std::string_view text) { return to_bytes(as_bytes(text)); };
  const Origin origin = self.origin();
  nb::list fields;
  for (const std::string_view field : self.fields()) {
    fields.append(nb::make_tuple(raw(field), to_bytes(*self.find(field))));
  }
  return {raw(self.key()), raw(origin.shard), raw(origin.member), origin.offset, fields};
}

PySample unpickled(const Pickled& state) {
  const auto text = [](const nb::bytes& bytes) { return std::string(bytes.c_str(), bytes.size()); };
  std::vector<Sample::Field> fields;
  std::vector<std::byte> all;
  for (nb::handle pair : std::get<4>(state)) {
    const auto name = nb::cast<nb::bytes>(pair[0]);
    const auto bytes = nb::cast<nb::bytes>(pair[1]);
    const auto* data = static_cast<const std::byte*>(bytes.data());
    fields.push_back({text(name), all.size(), bytes.size()});
    all.insert(all.end(), data, data + bytes.size());
  }
  Origin origin{text(std::get<1>(state)), text(std::get<2>(state)), std::get<3>(state)};
  return PySample(std::make_shared<const Sample>(text(std::get<0>(state)), std::move(origin),
                                                 std::move(fields), std::move(all)));
}

std::string represent(const PySample& self) {
  std::string out = "Sample('" + std::string(self.key()) + "'";
  for (const std::string_view field : self.fields()) {
    out += ", " + std::string(field) + ": " + std::to_string(self.find(field)->size()) + " bytes";
  }
  return out + ")";
}

}  // namespace

void bind_samples(nb::module_& module) {
  nb::class_<PySample>(module, "Sample", "A sample: a key and named fields, each as bytes.")
      .def_prop_ro("key", [](const PySample& self) { return to_str(self.key()); })
      .def_prop_ro("fields", &names)
      .def_prop_ro("origin", [](const PySample& self) { return to_origin(self.origin()); })
      .def("__getitem__", &field_or_raise)
      .def("__contains__",
           [](const PySample& self, std::string_view name) { return self.find(name).has_value(); })
      .def("__getitem__",
           [](const PySample& self, const nb::str& name) {  // not UTF-8
             return field_or_raise(self, from_str(name));
           })
      .def("__contains__",
           [](const PySample& self, const nb::str& name) {
             return self.find(from_str(name)).has_value();
           })
      .def("__contains__", [](const PySample&, nb::handle) { return false; })
      .def("__len__", [](const PySample& self) { return self.fields().size(); })
      .def("__iter__", [](const PySample& self) { return nb::iter(names(self)); })
      .def(
          "get",
          [](const PySample& self, std::string_view name, nb::object fallback) -> nb::object {
            const std::optional<ByteView> bytes = self.find(name);
            return bytes ? nb::object(to_bytes(*bytes)) : std::move(fallback);
          },
          nb::arg("name"), nb::arg("default") = nb::none())
      .def("keys", &names)
      .def("values", &values)
      .def("items", &items)
      .def("__repr__", [](const PySample& self) { return to_str(represent(self)); })
      .def("__getstate__", &pickled)
      .def("__setstate__",
           [](PySample& self, const Pickled& state) { new (&self) PySample(unpickled(state)); });

  nb::class_<SampleIterator>(module, "SampleIterator")
      .def("__init__",
           [](SampleIterator* self, const PySet& set, uint64_t begin, uint64_t end) {
             new (self) SampleIterator(set.set, begin, std::min(end, set.set->size()));
           })
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &SampleIterator::next);
}

}  // namespace headrace::python
