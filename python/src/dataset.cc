// headrace/dataset.h: opening, and random access by number and key.
#include "headrace/dataset.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "format/shard_index.h"
#include "handles.h"
#include "headrace/selection.h"
#include "interruptible.h"
#include "plan/manifest.h"

namespace headrace::python {
namespace {

std::shared_ptr<const Dataset> open(const std::vector<std::string>& locations,
                                    const OpenOptions& options) {
  return unwrap(interruptible([&] { return Dataset::open(locations, options); }));
}

nb::list names(const std::vector<std::string>& texts) {
  nb::list out;
  for (const std::string& text : texts) out.append(to_str(text));
  return out;
}

nb::list field_names(const PySet& self) {
  nb::list out;
  for (const FieldSummary& field : self.set->manifest().fields) out.append(to_str(field.name));
  return out;
}

SampleId checked(const PySet& self, uint64_t number) {
  if (number >= self.set->size()) {
    throw nb::index_error("the data set has fewer samples");
  }
  return self.set->locate(number);
}

PySample read(const PySet& self, SampleId id) {
  Sample sample = unwrap(interruptible(*self.set, [&] { return self.set->sample(id); }));
  return PySample(std::make_shared<const Sample>(std::move(sample)));
}

std::vector<SampleId> find(const PySet& self, std::string_view key) {
  return unwrap(interruptible(*self.set, [&] { return self.set->find(key); }));
}

PySet select(const PySet& self, Selection selection) {
  return {unwrap(Dataset::select(*self.set, std::move(selection)))};
}

PySet select_hash(const PySet& self, double begin, double end, uint64_t seed) {
  return select(self, unwrap(interruptible(*self.set, [&] {
                  return select_by_hash(*self.set, {begin, end, seed});
                })));
}

/// Asks `keep` about every key, shard by shard.
PySet select_keys(const PySet& self, const nb::callable& keep) {
  Selection selection;
  for (uint32_t shard = 0; shard < self.set->shards(); ++shard) {
    const auto index = unwrap(interruptible(*self.set, [&] { return self.set->index(shard); }));
    std::vector<bool>& kept = selection.kept.emplace_back(index->size());
    for (uint32_t i = 0; i < index->size(); ++i) {
      const int answer = PyObject_IsTrue(keep(to_str(index->key(i))).ptr());
      if (answer < 0) throw nb::python_error();
      kept[i] = answer != 0;
    }
  }
  return select(self, std::move(selection));
}

}  // namespace

void bind_dataset(nb::module_& module) {
  module.def(
      "open",
      [](const std::vector<std::string>& locations, const std::string& key_rule,
         bool cache_in_memory, unsigned threads, const std::string& cache_folder) {
        return PySet{
            open(locations, OpenOptions{key_rule, cache_in_memory, threads, cache_folder})};
      },
      nb::arg("locations"), nb::kw_only(), nb::arg("key_rule"), nb::arg("cache_in_memory"),
      nb::arg("threads"), nb::arg("cache_folder"));

  nb::class_<PySet>(module, "Dataset")
      .def("__len__", [](const PySet& self) { return self.set->size(); })
      .def_prop_ro("name", [](const PySet& self) { return to_str(self.set->name()); })
      .def_prop_ro("fingerprint", [](const PySet& self) { return self.set->fingerprint(); })
      .def_prop_ro("has_manifest", [](const PySet& self) { return self.set->has_manifest(); })
      .def_prop_ro("shard_count", [](const PySet& self) { return self.set->shards(); })
      .def_prop_ro("bytes", [](const PySet& self) { return self.set->manifest().bytes; })
      .def_prop_ro("fields", &field_names)
      .def_prop_ro("classes", [](const PySet& self) { return names(self.set->manifest().classes); })
      .def("cache_counters",
           [](const PySet& self) {
             const CacheCounters counters = self.set->cache_counters();
             nb::dict out;
             out["hit_bytes"] = counters.hit_bytes;
             out["fetched_bytes"] = counters.fetched_bytes;
             out["streamed_bytes"] = counters.streamed_bytes;
             out["damaged"] = counters.damaged;
             out["trouble"] = to_str(counters.trouble);
             return out;
           })
      .def("shard_name",
           [](const PySet& self, uint32_t shard) {
             return to_str(
                 unwrap(interruptible(*self.set, [&] { return self.set->shard_name(shard); })));
           })
      .def("select_hash", &select_hash)
      .def("select_keys", &select_keys)
      .def("sample",
           [](const PySet& self, uint64_t number) { return read(self, checked(self, number)); })
      .def("find",
           [](const PySet& self, const nb::str& key) {
             std::vector<std::pair<uint32_t, uint32_t>> places;
             for (const SampleId& id : find(self, from_str(key)))
               places.emplace_back(id.shard, id.sample);
             return places;
           })
      .def("sample_at", [](const PySet& self, uint32_t shard, uint32_t sample) {
        return read(self, SampleId{shard, sample});
      });
}

}  // namespace headrace::python
