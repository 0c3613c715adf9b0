// headrace verify: everything against the manifest.
#include "job/verify.h"

#include <unistd.h>

#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/verbs.h"

namespace headrace::cli {
namespace {

struct Options {
  VerifyOptions verify;
  bool strict = false;
};

const char* severity_name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

void print_text(const Finding& finding, Output& out) {
  const bool colour = wants_colour(STDOUT_FILENO);
  const bool error = finding.severity == Severity::kError;
  if (colour) out.text(error ? "\x1b[1;31m" : "\x1b[1;33m");
  out.text(severity_name(finding.severity));
  if (colour) out.text("\x1b[0m");
  out.text(": ");
  out.name(error_line(finding.error));
  out.text("\n");
}

void print_json(const VerifyReport& report, int exit, Output& out) {
  std::string text;
  Json json(text);
  json.object().member("schema", "headrace.verify/1").member("ok", exit == 0);
  json.member("manifest", report.has_manifest).member("shards", report.shards);
  json.member("samples", report.samples).member("bytes", report.bytes);
  json.member("errors", report.errors).member("warnings", report.warnings);
  json.key("findings").array();
  for (const Finding& finding : report.findings) {
    const Origin& origin = finding.error.origin;
    json.object().member("severity", severity_name(finding.severity));
    json.member("kind", finding_name(finding.kind)).member("message", finding.error.message);
    if (!origin.shard.empty()) json.member("shard", origin.shard);
    if (!origin.member.empty()) json.member("member", origin.member);
    if (origin.offset != Origin::kNoOffset) json.member("offset", origin.offset);
    if (!finding.error.hint.empty()) json.member("hint", finding.error.hint);
    json.end();
  }
  json.end().end();
  out.text(text + "\n");
}

std::string summary(const VerifyReport& report, double seconds) {
  std::string text = format_number_of(report.samples, "sample") + " in " +
                     format_number_of(report.shards, "shard") + ", " + format_bytes(report.bytes) +
                     " read in " + format_seconds(seconds) + ": ";
  if (report.errors == 0 && report.warnings == 0) return text + "all is well";
  if (report.errors > 0) text += format_number_of(report.errors, "error");
  if (report.errors > 0 && report.warnings > 0) text += ", ";
  if (report.warnings > 0) text += format_number_of(report.warnings, "warning");
  const uint64_t listed = report.findings.size();
  if (listed < report.errors + report.warnings)
    text += " (" + format_count(listed) + " listed; --max-findings lists more)";
  return text;
}

Result<int> run(const Options& options, Context& context) {
  VerifyOptions wanted = options.verify;
  wanted.threads = context.threads;
  const auto start = std::chrono::steady_clock::now();
  auto verified = [&] {
    const ProgressLine line(context, "verifying", "shards");
    return verify(wanted, context.progress);
  }();
  HR_TRY(const VerifyReport report, std::move(verified));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;

  int exit = report.errors > 0 ? exit_code(report.worst) : 0;
  if (options.strict && exit == 0 && report.warnings > 0) exit = exit_code(Code::kCorrupt);
  if (context.json)
    print_json(report, exit, context.out);
  else
    for (const Finding& finding : report.findings) print_text(finding, context.out);
  HR_CHECK(context.out.flush());
  context.note(summary(report, passed.count()));
  return exit;
}

}  // namespace

const Verb kVerify{
    .name = "verify",
    .summary = "Check a data set against its manifest, byte by byte",
    .examples =
        "headrace verify shards/\n"
        "headrace verify shards/ --quick      # tables and sizes, no shard is read\n"
        "headrace verify shards/ --json | jq '.findings[].shard'\n"
        "headrace verify 'other-{000..099}.tar'  # no manifest: structure only\n",
    .setup = [](CLI::App& app) -> Action {
      auto o = std::make_shared<Options>();
      app.add_option("DATASET", o->verify.locations, "Folder, manifest, or tar shards")
          ->required()
          ->type_name("");
      app.add_flag("--quick", o->verify.quick, "Tables and sizes only; reads no shard");
      app.add_flag("--strict", o->strict, "Exit 4 for warnings too (duplicate keys, odd objects)");
      app.add_option("--max-findings", o->verify.max_findings, "List at most N (1000)")
          ->type_name("N")
          ->check(whole_number());
      app.add_option("--key", o->verify.key_rule,
                     "Key rule without a manifest: webdataset, base, path, flat, REGEX")
          ->type_name("RULE");
      return [o](Context& context) { return run(*o, context); };
    },
    .stoppable = true};

}  // namespace headrace::cli
