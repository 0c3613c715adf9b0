// headrace history, restore, gc: the versions of a data set.
#include "job/versions.h"

#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "job/collect.h"

namespace headrace::cli {
namespace {

Result<int> history(const std::string& folder, Context& context) {
  HR_TRY(const auto store, open_store(folder));
  HR_TRY(const auto versions, read_versions(*store));
  std::string text;
  Json json(text);
  json.object().member("schema", "headrace.history/1").key("versions").array();
  for (const Version& version : versions) {
    const Manifest& m = version.manifest;
    json.object().member("version", version.number).member("current", version.is_current);
    json.member("samples", m.samples).member("shards", m.shards).member("bytes", m.bytes);
    json.member("fingerprint", m.fingerprint()).member("made_by", m.tool).end();
    if (context.json) continue;
    context.out.text((version.is_current ? "* " : "  ") + std::to_string(version.number) + "\t" +
                     format_number_of(m.samples, "sample") + "\t" +
                     format_number_of(m.shards, "shard") + "\t" + format_bytes(m.bytes) + "\t" +
                     m.fingerprint().substr(0, 16) + "\n");
  }
  json.end().end();
  if (context.json) context.out.text(text + "\n");
  return 0;
}

struct Restore {
  std::string folder;
  uint64_t version = 0;
};

Result<int> restore(const Restore& options, Context& context) {
  HR_TRY(const auto store, open_store(options.folder));
  HR_TRY(const uint64_t number, restore_version(*store, options.version));
  if (context.json)
    context.out.text("{\"schema\": \"headrace.restore/1\", \"version\": " + std::to_string(number) +
                     "}\n");
  context.note(number == options.version
                   ? "nothing to do: version " + std::to_string(number) + " is the current one"
                   : "version " + std::to_string(number) + " is what version " +
                         std::to_string(options.version) + " was");
  return 0;
}

void print_json(const CollectReport& report, bool dry_run, Output& out) {
  std::string text;
  Json json(text);
  json.object().member("schema", "headrace.gc/1").member("dry_run", dry_run);
  json.member("abandoned", report.abandoned).key("forgotten").array();
  for (const uint64_t number : report.forgotten) json.value(std::to_string(number));
  json.end().key("removed").array();
  for (const StoreEntry& entry : report.removed)
    json.object().member("path", entry.path).member("bytes", entry.bytes).end();
  json.end().member("removed_bytes", report.removed_bytes);
  json.member("young_objects", report.young_objects).member("young_bytes", report.young_bytes);
  json.end();
  out.text(text + "\n");
}

Result<int> gc(const CollectOptions& options, Context& context) {
  HR_TRY(const CollectReport report, collect_garbage(options, context.progress));
  if (context.json) {
    print_json(report, options.dry_run, context.out);
  } else {
    for (const StoreEntry& entry : report.removed) {
      context.out.name(entry.path);
      context.out.text("\n");
    }
  }
  const std::string would = options.dry_run ? "would remove " : "removed ";
  context.note(would + format_number_of(report.removed.size(), "object") + ", " +
               format_bytes(report.removed_bytes) +
               (report.forgotten.empty()
                    ? ""
                    : "; forgets " + format_number_of(report.forgotten.size(), "version")) +
               (report.young_objects == 0
                    ? ""
                    : "; " + format_number_of(report.young_objects, "object") +
                          " more when the grace period is over"));
  return 0;
}

/// "90s", "30m", "12h", "7d".
Result<std::chrono::seconds> parse_age(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = text.substr(digits);
  const uint64_t scale = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 86400;
  const bool known = unit == "s" || unit == "m" || unit == "h" || unit == "d";
  if (digits == 0 || digits > 6 || !known)
    return Error{.code = Code::kUsage,
                 .message = "'" + text + "' is no age",
                 .origin = {},
                 .hint = "Write it as 90s, 30m, 12h or 7d."};
  return std::chrono::seconds(std::stoul(text.substr(0, digits)) * scale);
}

CLI::Option* add_dataset(CLI::App& app, std::string& folder) {
  return app.add_option("DATASET", folder, "Folder or URL")->required()->type_name("");
}

}  // namespace

const Verb kHistory{.name = "history",
                    .summary = "List the versions of a data set; * is what readers see",
                    .examples = "headrace history shards/\n",
                    .setup = [](CLI::App& app) -> Action {
                      auto folder = std::make_shared<std::string>();
                      add_dataset(app, *folder);
                      return [folder](Context& context) { return history(*folder, context); };
                    },
                    .group = kPlanGroup};

const Verb kRestore{.name = "restore",
                    .summary = "Make an old version of a data set the newest again",
                    .examples = "headrace restore shards/ 3\n",
                    .setup = [](CLI::App& app) -> Action {
                      auto o = std::make_shared<Restore>();
                      add_dataset(app, o->folder);
                      app.add_option("VERSION", o->version, "Its number in 'headrace history'")
                          ->required()
                          ->type_name("")
                          ->check(whole_number(1));
                      return [o](Context& context) { return restore(*o, context); };
                    },
                    .group = kPlanGroup};

const Verb kGc{
    .name = "gc",
    .summary = "Remove what no version of a data set needs any more",
    .examples =
        "headrace gc shards/ --dry-run            # what would go\n"
        "headrace gc shards/ --keep 3 --grace 1d  # also all versions but the newest three\n",
    .setup = [](CLI::App& app) -> Action {
      auto o = std::make_shared<CollectOptions>();
      auto grace = std::make_shared<std::string>("7d");
      add_dataset(app, o->folder);
      app.add_option("--keep", o->keep, "Forget all but the newest N versions (else none)")
          ->type_name("N")
          ->check(whole_number(1));
      app.add_option("--grace", *grace, "Leave what is younger (7d)")->type_name("AGE");
      app.add_flag("--abandon", o->abandon, "Give up a job that was stopped and not finished");
      app.add_flag("--dry-run", o->dry_run, "Name what would go; remove nothing");
      return [o, grace](Context& context) -> Result<int> {
        HR_TRY(o->grace, parse_age(*grace));
        return gc(*o, context);
      };
    },
    .stoppable = true,
    .group = kPlanGroup};

}  // namespace headrace::cli
