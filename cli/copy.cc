// headrace cp: a data set, or a tree of objects, into another place.
#include "job/copy.h"

#include <chrono>
#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/sample_options.h"
#include "cli/verbs.h"

namespace headrace::cli {
namespace {

void print_json(const CopyReport& report, bool dry_run, Output& out) {
  std::string text;
  Json json(text);
  json.object().member("schema", "headrace.cp/1").member("manifest", report.has_manifest);
  json.member("dry_run", dry_run).member("objects", report.objects).member("bytes", report.bytes);
  json.member("copied_objects", report.copied_objects).member("copied_bytes", report.copied_bytes);
  json.end();
  out.text(text + "\n");
}

std::string summary(const CopyReport& report, bool dry_run, double seconds) {
  if (report.copied_objects == 0 && !dry_run)
    return "everything was there: " + format_number_of(report.objects, "object") + ", " +
           format_bytes(report.bytes);
  return format_number_of(report.copied_objects, "object") + " of " + format_count(report.objects) +
         ", " + format_bytes(report.copied_bytes) +
         (dry_run ? " to copy" : " copied in " + format_seconds(seconds)) +
         (report.has_manifest && !dry_run ? ", checked against the manifest" : "");
}

Result<int> run(CopyOptions options, Context& context) {
  options.threads = context.threads;
  const auto start = std::chrono::steady_clock::now();
  auto copied = [&] {
    const ProgressLine line(context, "copying", "objects");
    return copy(options, context.progress);
  }();
  if (!copied.ok()) return resumable(std::move(copied).error());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  if (context.json) print_json(*copied, options.dry_run, context.out);
  HR_CHECK(context.out.flush());
  context.note(summary(*copied, options.dry_run, passed.count()));
  return 0;
}

}  // namespace

const Verb kCopy{
    .name = "cp",
    .summary = "Copy a data set between any two places, checked, resumable",
    .examples =
        "headrace cp https://host/set /nvme/set     # the same command goes on after a stop\n"
        "headrace cp shards/ /backup/shards --dry-run --json\n"
        "headrace cp shards/ s3://b/val --transform 's/^train-/val-/'\n",
    .setup = [](CLI::App& app) -> Action {
      auto o = std::make_shared<CopyOptions>();
      app.add_option("SOURCE", o->source,
                     "Folder or URL of a data set, or of any objects; or shards by name")
          ->required()
          ->type_name("");
      app.add_option("DEST", o->destination, "Folder or URL; it need not exist")
          ->required()
          ->type_name("");
      app.add_option(
             "--transform", o->transform,
             "Other names, as GNU tar's: 's/^train-(\\d+)/val-\\1/', with g for every place; "
             "of a data set those of its shards")
          ->type_name("RULE");
      app.add_flag("--dry-run", o->dry_run, "Say what there is to copy, and write nothing");
      app.add_flag("!--no-fsync", o->fsync, "Do not wait for the disk");
      return [o](Context& context) { return run(*o, context); };
    },
    .stoppable = true};

}  // namespace headrace::cli
