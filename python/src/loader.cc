// headrace/loader.h: the loader, safe against signals, threads and forks.
#include "headrace/loader.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <mutex>

#include "bindings.h"
#include "handles.h"
#include "interruptible.h"

namespace headrace::python {
namespace {

/// A loader and what Python needs around it. Several Python threads may call it: they take turns.
class PyLoader {
 public:
  explicit PyLoader(LoaderOptions options)
      : sets_(std::make_shared<const Sets>(options.sets)),
        loader_(unwrap(interruptible([&] { return Loader::create(std::move(options)); }))) {}

  ~PyLoader() {
    // The child of a fork has none of the threads that the loader would wait for.
    if (forked()) {
      static_cast<void>(loader_.release());
      return;
    }
    nb::gil_scoped_release unlocked;  // its threads end what they are reading
    loader_.reset();
  }
  PyLoader(const PyLoader&) = delete;
  PyLoader& operator=(const PyLoader&) = delete;

  /// The next batch, or None at the end of the epoch.
  nb::object next() {
    if (forked()) {
      raise_usage("this loader was started before the process forked",
                  "Make the loader in the child, or start no iteration before the fork.");
    }
    started_in_ = getpid();
    auto batch = [&] {
      nb::gil_scoped_release unlocked;
      const std::lock_guard turn(consumer_);
      return loader_->next([] {
        nb::gil_scoped_acquire locked;
        return PyErr_CheckSignals() != 0;
      });
    }();
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    std::shared_ptr<const Batch> value = unwrap(std::move(batch));
    if (!value) return nb::none();
    return nb::cast(PyBatch{std::move(value), sets_});
  }

  /// Runs `f(loader)` in the consumer's turn.
  template <typename F>
  auto with(F f) {
    nb::gil_scoped_release unlocked;
    const std::lock_guard turn(consumer_);
    return f(*loader_);
  }

  /// The same for what reads: Ctrl-C is heard.
  template <typename F>
  auto read_with(F f) {
    return interruptible([&] {
      const std::lock_guard turn(consumer_);
      return f(*loader_);
    });
  }

  nb::object row_at(uint64_t epoch, uint64_t position) {
    auto row = read_with([=](const Loader& loader) { return loader.row_at(epoch, position); });
    return nb::cast(PyBatch{unwrap(std::move(row)), sets_});
  }

  bool started() const { return started_in_ != 0; }
  Loader& loader() { return *loader_; }
  void stop() {
    if (forked()) return;
    nb::gil_scoped_release unlocked;
    loader_->stop();
  }

 private:
  bool forked() const { return started_in_ != 0 && started_in_ != getpid(); }

  const std::shared_ptr<const Sets> sets_;
  std::unique_ptr<Loader> loader_;
  std::mutex consumer_;
  pid_t started_in_ = 0;
};

Tail tail_of(const std::string& name) {
  return name == "pad" ? Tail::kPad : name == "short" ? Tail::kShort : Tail::kDrop;
}

template <typename T>
T get(const nb::dict& options, const char* key) {
  return nb::cast<T>(options[key]);
}

LoaderOptions loader_options(const nb::list& sets, const nb::dict& options) {
  LoaderOptions out;
  for (nb::handle set : sets) out.sets.push_back(nb::cast<const PySet&>(set).set);
  out.weights = get<std::vector<double>>(options, "weights");
  out.mixture_steps = get<uint64_t>(options, "mixture_steps");
  out.shuffle = get<bool>(options, "shuffle");
  out.seed = get<uint64_t>(options, "seed");
  out.lanes = get<uint64_t>(options, "lanes");
  out.window_bytes = get<uint64_t>(options, "window_bytes");
  out.tail = tail_of(get<std::string>(options, "tail"));
  out.bucket_steps = get<uint64_t>(options, "bucket_steps");
  out.bucket_by = get<std::string>(options, "bucket_by");
  out.pack_length = get<uint64_t>(options, "pack_length");
  out.pack_by = get<std::string>(options, "pack_by");
  out.rows = get<uint64_t>(options, "rows");
  out.total = get<uint64_t>(options, "total");
  out.rank = get<uint32_t>(options, "rank");
  out.world = get<uint32_t>(options, "world");
  out.worker = get<uint32_t>(options, "worker");
  out.workers = get<uint32_t>(options, "workers");
  for (const auto& [name, recipe] : get<nb::dict>(options, "fields")) {
    out.fields.push_back(field_spec(nb::cast<std::string>(name), nb::cast<nb::dict>(recipe)));
  }
  if (!options["mix"].is_none()) {
    const auto mix = get<nb::dict>(options, "mix");
    out.mix = MixRows{.image = get<std::string>(mix, "image"),
                      .label = get<std::string>(mix, "label"),
                      .classes = get<int64_t>(mix, "classes"),
                      .mixup_alpha = get<double>(mix, "mixup"),
                      .cutmix_alpha = get<double>(mix, "cutmix"),
                      .probability = get<double>(mix, "p")};
  }
  out.threads = get<unsigned>(options, "threads");
  out.memory_bytes = get<uint64_t>(options, "memory_bytes");
  out.prefetch = get<unsigned>(options, "prefetch");
  const auto on_error = get<std::string>(options, "on_error");
  out.on_error = on_error == "skip"   ? OnError::kSkip
                 : on_error == "gray" ? OnError::kGray
                                      : OnError::kRaise;
  out.max_errors = get<uint64_t>(options, "max_errors");
  out.audit_folder = get<std::string>(options, "audit_folder");
  out.shared_memory = get<bool>(options, "shared_memory");
  return out;
}

nb::dict stats(PyLoader& self) {
  const LoaderStats stats = self.loader().stats();
  nb::dict out;
  out["batches"] = stats.batches;
  out["rows"] = stats.rows;
  out["bytes_read"] = stats.bytes_read;
  out["read_calls"] = stats.read_calls;
  out["rows_skipped"] = stats.rows_skipped;
  out["slots"] = stats.slots;
  out["slots_grown"] = stats.slots_grown;
  out["slot_bytes"] = stats.slot_bytes;
  out["seconds"] = stats.seconds;
  out["plan_seconds"] = stats.plan_seconds;
  out["read_seconds"] = stats.read_seconds;
  out["decode_seconds"] = stats.decode_seconds;
  out["idle_seconds"] = stats.idle_seconds;
  out["consumer_seconds"] = stats.consumer_seconds;
  out["limit"] = stats.limit;
  out["sentence"] = stats.sentence;
  return out;
}

}  // namespace

void bind_loader(nb::module_& module) {
  nb::class_<PyLoader>(module, "Loader")
      .def("__init__",
           [](PyLoader* self, const nb::list& sets, const nb::dict& options) {
             new (self) PyLoader(loader_options(sets, options));
           })
      .def_prop_ro("started", &PyLoader::started)
      .def_prop_ro("steps", [](PyLoader& self) { return self.loader().steps(); })
      .def("tail_sentence", [](PyLoader& self) { return self.loader().tail_sentence(); })
      .def("explain", [](PyLoader& self) { return self.loader().explain(); })
      .def("explain_row",
           [](PyLoader& self, uint64_t epoch, uint64_t position) {
             return unwrap(self.read_with(
                 [=](const Loader& loader) { return loader.explain(epoch, position); }));
           })
      .def("row_at", &PyLoader::row_at)
      .def(
          "page_lock", [](PyLoader& self, int device) { self.loader().page_lock(device); },
          nb::call_guard<nb::gil_scoped_release>())
      .def("agreement", [](PyLoader& self) { return self.loader().agreement(); })
      .def("next", &PyLoader::next)
      .def(
          "rewind",
          [](PyLoader& self) { unwrap(self.with([](Loader& loader) { return loader.rewind(); })); })
      .def("set_epoch",
           [](PyLoader& self, uint64_t epoch) {
             unwrap(self.with([=](Loader& loader) { return loader.set_epoch(epoch); }));
           })
      .def_prop_ro(
          "epoch",
          [](PyLoader& self) { return self.with([](Loader& loader) { return loader.epoch(); }); })
      .def("state",
           [](PyLoader& self) { return self.with([](Loader& loader) { return loader.state(); }); })
      .def("state_at", [](PyLoader& self, uint64_t epoch,
                          uint64_t step) { return unwrap(self.loader().state_at(epoch, step)); })
      .def("load_state",
           [](PyLoader& self, const std::string& json, uint64_t total) {
             unwrap(self.with([&](Loader& loader) { return loader.load_state(json, total); }));
           })
      .def("skip",
           [](PyLoader& self, uint64_t steps) {
             unwrap(self.with([=](Loader& loader) { return loader.skip(steps); }));
           })
      .def("stats", &stats)
      .def("stop", &PyLoader::stop);
}

}  // namespace headrace::python
