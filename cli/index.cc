// headrace index: a manifest for shards that others wrote, or for loose files.
#include "job/index.h"

#include <chrono>
#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/sample_options.h"
#include "cli/verbs.h"

namespace headrace::cli {
namespace {

struct Options {
  IndexOptions index;
  std::string kind = "auto";
  SampleOptions samples;
  std::string label_from;
  bool no_checksums = false;
  bool no_fsync = false;
};

Result<IndexOptions> parse(const Options& o, const Context& context) {
  IndexOptions index = o.index;
  if (!o.label_from.empty())
    return Error{.code = Code::kUsage,
                 .message = "loose files cannot be given a field that is no file",
                 .origin = {},
                 .hint = "'headrace pack --label-from' writes class numbers into the shards."};
  HR_CHECK(choose(
      "--kind", o.kind,
      {{"auto", IndexKind::kAuto}, {"shards", IndexKind::kShards}, {"files", IndexKind::kFiles}},
      &index.kind));
  HR_CHECK(take_sample_options(o.samples, &index));
  index.checksums = !o.no_checksums;
  index.fsync = !o.no_fsync;
  index.threads = context.threads;
  index.tool = "headrace " HEADRACE_VERSION;
  return index;
}

void write_json(const IndexOptions& options, const IndexReport& report, double seconds,
                Context& context) {
  std::string text;
  Json json(text);
  json.object()
      .member("folder", report.folder)
      .member("out", report.out)
      .member("container", container_name(report.container))
      .member("dry_run", options.dry_run)
      .member("complete_before", report.complete_before)
      .member("shards", report.shards)
      .member("shards_reused", report.shards_reused)
      .member("samples", report.samples)
      .member("bytes", report.bytes)
      .member("fingerprint", report.fingerprint)
      .member("seconds", seconds);
  json.key("notes").array();
  for (const std::string& note : report.notes) json.value(note);
  json.end().key("findings").array();
  for (const Error& finding : report.findings) {
    json.object().member("code", code_name(finding.code)).member("message", finding.message);
    json.member("shard", finding.origin.shard).member("member", finding.origin.member);
    if (finding.origin.offset != Origin::kNoOffset) json.member("offset", finding.origin.offset);
    json.member("hint", finding.hint).end();
  }
  json.end().end();
  context.out.text(text + "\n");
}

void write_text(const IndexOptions& options, const IndexReport& report, double seconds,
                Context& context) {
  const std::string what = format_number_of(report.shards, "shard");
  if (report.complete_before)
    return context.note("nothing to do: " + printable(report.out) + " indexes exactly this");
  if (options.dry_run)
    return context.note("would index " +
                        (report.container == Container::kFiles
                             ? format_number_of(report.samples, "sample") + " of loose files"
                             : what + " (" + format_bytes(report.bytes) + ")") +
                        " of " + printable(report.folder) + " to " + printable(report.out));
  context.note("indexed " + format_number_of(report.samples, "sample") + " in " + what + " (" +
               format_bytes(report.bytes) + ") to " + printable(report.out) + " in " +
               format_seconds(seconds) +
               (report.shards_reused > 0
                    ? "; " + format_number_of(report.shards_reused, "shard") + " known before"
                    : ""));
}

Result<int> run(const Options& o, Context& context) {
  HR_TRY(const IndexOptions options, parse(o, context));
  const auto start = std::chrono::steady_clock::now();
  Result<IndexReport> indexed = [&] {
    const ProgressLine line(context, "indexing", "shards");
    return index_dataset(options, context.progress);
  }();
  if (!indexed.ok()) return resumable(std::move(indexed).error());
  const IndexReport& report = *indexed;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const std::string& note : report.notes) context.note("note: " + printable(note));
  if (context.json) write_json(options, report, seconds, context);
  if (!report.findings.empty()) {
    if (!context.json)
      for (const Error& finding : report.findings) print_error(finding, false);
    context.note(format_count(report.findings.size()) + " of " +
                 format_number_of(report.shards, "shard") + " damaged; nothing was written");
    return exit_code(Code::kCorrupt);
  }
  if (!context.json) write_text(options, report, seconds, context);
  return 0;
}

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  IndexOptions& index = o->index;
  app.add_option("SOURCE", index.sources, "A folder, or shards: brace range, glob, @list")
      ->required()
      ->type_name("");
  app.add_option("-o,--out", index.out,
                 "Where the manifest goes, as for a read-only folder (beside the shards)")
      ->type_name("DEST");
  app.add_option("--kind", o->kind, "What the folder holds: auto, shards, files")
      ->type_name("KIND");
  add_key_option(app, o->samples);
  app.add_flag("--no-checksums", o->no_checksums,
               "Shards: read headers only; verify cannot check bytes then");
  app.add_flag("--lenient", index.lenient, "Shards: take archives without an end mark");

  const std::string files = "Loose files";
  add_sample_options(app, o->samples, files);
  app.add_option("--label-from", o->label_from, "Needs pack; says so")->group("");

  const std::string job = "Job";
  app.add_flag("--replace", index.replace, "Take the place of a manifest that pack wrote")
      ->group(job);
  app.add_flag("--dry-run", index.dry_run, "Say what would be indexed; write nothing")->group(job);
  app.add_flag("--no-fsync", o->no_fsync, "Do not wait for the disk")->group(job);
  return [o](Context& context) { return run(*o, context); };
}

}  // namespace

const Verb kIndex{.name = "index",
                  .summary = "Write a manifest for shards that others wrote, or for loose files",
                  .examples =
                      "headrace index shards/\n"
                      "headrace index 'train-{000..127}.tar'\n"
                      "headrace index /readonly/shards --out my-index/\n"
                      "headrace index photos/               # loose files, not packed\n",
                  .setup = setup,
                  .stoppable = true};

}  // namespace headrace::cli
