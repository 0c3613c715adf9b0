// src/job/pack.h: packing, run in a thread of their own so that Ctrl-C is heard.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <future>

#include "bindings.h"
#include "job/pack.h"

namespace headrace::python {
namespace {

constexpr auto kHeartbeat = std::chrono::milliseconds(50);

/// Runs `job` with the GIL released. A signal handler that raises (Ctrl-C) stops it, and its
/// exception goes on once the job has ended.
template <typename F>
auto run_job(Progress& progress, F job) {
  auto result = [&] {
    nb::gil_scoped_release unlocked;
    auto done = std::async(std::launch::async, job);
    while (done.wait_for(kHeartbeat) == std::future_status::timeout) {
      nb::gil_scoped_acquire locked;
      if (!progress.stopped() && PyErr_CheckSignals() != 0) progress.stop.store(true);
    }
    return done.get();
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return unwrap(std::move(result));
}

template <typename T>
T get(const nb::dict& options, const char* key) {
  return nb::cast<T>(options[key]);
}

PictureOptions picture_options(const nb::dict& options) {
  const auto jpeg = get<std::string>(options, "jpeg");
  PictureOptions pictures;
  pictures.max_side = get<uint32_t>(options, "max_side");
  pictures.quality = get<int>(options, "quality");
  pictures.raw = get<bool>(options, "raw");
  pictures.baseline = !jpeg.empty();
  pictures.strip = jpeg == "baseline,strip";
  pictures.drop_corrupt = get<bool>(options, "drop_corrupt");
  return pictures;
}

nb::dict picture_report(const PictureReport& report) {
  nb::dict out;
  out["pictures"] = report.pictures;
  out["changed"] = report.changed;
  out["bytes_before"] = report.bytes_before;
  out["bytes_after"] = report.bytes_after;
  out["timed"] = report.timed;
  out["decode_seconds_before"] = report.seconds_before;
  out["decode_seconds_after"] = report.seconds_after;
  return out;
}

PackOptions pack_options(const nb::dict& options) {
  PackOptions out;
  out.sources = get<std::vector<std::string>>(options, "sources");
  out.out = get<std::string>(options, "out");
  out.key_rule = get<std::string>(options, "key");
  const auto label = get<std::string>(options, "label_from");
  out.label_from = label == "folder"   ? LabelFrom::kFolder
                   : label == "parent" ? LabelFrom::kParent
                                       : LabelFrom::kNothing;
  out.fields = get<std::vector<std::string>>(options, "fields");
  out.on_error = get<bool>(options, "skip_errors") ? OnBadSample::kSkip : OnBadSample::kError;
  out.pictures = picture_options(options);
  out.measures = unwrap(parse_field_units(get<std::string>(options, "measure")));
  out.shard_bytes = get<uint64_t>(options, "shard_bytes");
  out.shard_samples = get<uint64_t>(options, "samples");
  out.shards = get<uint64_t>(options, "shards");
  out.name = get<std::string>(options, "name");
  out.shuffle = get<bool>(options, "shuffle");
  out.seed = get<uint64_t>(options, "seed");
  const auto folders = get<std::string>(options, "folders");
  out.folders = folders == "keep"       ? Folders::kKeep
                : folders == "collapse" ? Folders::kCollapse
                                        : Folders::kIgnore;
  out.key_map = get<std::string>(options, "key_map");
  out.drop_unmapped = get<bool>(options, "drop_unmapped");
  out.threads = get<unsigned>(options, "threads");
  out.replace = get<bool>(options, "replace");
  out.verify = get<bool>(options, "verify");
  return out;
}

nb::dict pack_files(const nb::dict& options) {
  const PackOptions wanted = pack_options(options);
  Progress progress;
  const PackReport report = run_job(progress, [&] { return pack(wanted, progress); });
  nb::list notes;
  for (const std::string& note : report.notes) notes.append(to_str(note));
  nb::list classes;
  for (const std::string& name : report.classes) classes.append(to_str(name));
  nb::dict out;
  out["samples"] = report.samples;
  out["files"] = report.files;
  out["bytes"] = report.bytes;
  out["shards"] = report.shards.size();
  out["shards_resumed"] = report.shards_resumed;
  out["complete_before"] = report.complete_before;
  out["fingerprint"] = report.fingerprint;
  out["classes"] = classes;
  out["notes"] = notes;
  out["corrupt_samples"] = report.corrupt_samples;
  if (wanted.pictures.changes_bytes()) out["pictures"] = picture_report(report.pictures);
  return out;
}

}  // namespace

void bind_job(nb::module_& module) { module.def("pack", &pack_files); }

}  // namespace headrace::python
