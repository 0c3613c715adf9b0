#include "cli/reshape.h"

#include <chrono>

#include "base/try.h"
#include "base/units.h"
#include "cli/engine.h"
#include "cli/progress.h"
#include "cli/sample_options.h"
#include "dataset/containers.h"

namespace headrace::cli {
namespace {

bool changes_pictures(const ReshapePlan& plan) {
  const auto& map = plan.assignment().map;
  return map && map->kind == MapStep::Kind::kPictures;
}

void print_report(const ReshapePlan& plan, const RunReport& report, double seconds,
                  Context& context) {
  std::string text;
  Json json(text);
  json.object()
      .member("schema", "headrace.run/1")
      .member("plan", report.plan)
      .member("out", report.out)
      .member("tasks", report.tasks)
      .member("tasks_before", report.tasks_before)
      .member("complete_before", report.complete_before)
      .member("samples", report.samples)
      .member("bytes", report.bytes)
      .member("fingerprint", report.fingerprint)
      .member("seconds", seconds);
  json.key("notes").array();
  for (const std::string& note : report.notes) json.value(note);
  json.end();
  write_skipped(report.skipped, report.skipped_samples, report.corrupt_samples, json);
  if (changes_pictures(plan)) write_pictures(report.pictures, json.key("pictures"));
  json.end();
  context.out.text(text + "\n");
}

// "train=0.8,val=0.2": one data set each, in a folder of that name, of keys that no other part has.
Result<std::vector<ReshapeOptions>> split_in_parts(const std::string& text,
                                                   const ReshapeOptions& options) {
  const Error bad{
      .code = Code::kUsage,
      .message = "--parts is NAME=SHARE,… with shares that add up to 1 at most, not '" + text + "'",
      .hint = "For example --parts train=0.8,val=0.1,test=0.1"};
  std::vector<ReshapeOptions> parts;
  double begin = 0;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    const size_t equals = word.find('=');
    double share = 0;
    if (equals == std::string::npos || equals == 0 || word[0] == '.' ||
        word.find('/') != std::string::npos ||
        !CLI::detail::lexical_cast(word.substr(equals + 1), share) || !(share > 0) ||
        begin + share > 1 + 1e-9)
      return bad;
    ReshapeOptions part = options;
    part.out += "/" + word.substr(0, equals);
    part.select.share.begin = begin;
    begin = begin + share > 1 - 1e-9 ? 1 : begin + share;
    part.select.share.end = begin;
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string summary(const RunReport& report, bool is_task, double seconds) {
  if (report.complete_before)
    return "nothing to do: " + printable(report.out) + " holds exactly this";
  std::string text = "wrote " + format_number_of(report.samples, "sample") + " (" +
                     format_bytes(report.bytes) + ") in " +
                     format_number_of(is_task ? 1 : report.tasks, "shard") + " to " +
                     printable(report.out) + " in " + format_seconds(seconds);
  if (report.tasks_before > 0)
    text += "; " + format_number_of(report.tasks_before, "shard") + " there already";
  if (report.skipped_samples > 0)
    text += "; " + format_number_of(report.skipped_samples, "sample") + " left out";
  return text;
}

}  // namespace

namespace {

void add_scratch(CLI::App& app, ReshapeFlags& flags) {
  app.add_option("--scratch", flags.run.scratch,
                 "A local folder for what does not fit into memory (at DEST), and for the files of "
                 "map (TMPDIR)")
      ->type_name("FOLDER")
      ->group("Job");
}

}  // namespace

void add_run_options(CLI::App& app, ReshapeFlags& flags) {
  const std::string job = "Job";
  add_writing_options(app, flags.run.replace, flags.run.fsync, flags.run.verify, flags.memory);
  app.add_option("--algorithm", flags.algorithm,
                 "gather (reads samples where they lie), buckets (moves all twice, in order), or "
                 "auto: what costs less")
      ->type_name("NAME")
      ->group(job);
  add_scratch(app, flags);
}

std::shared_ptr<ReshapeFlags> add_reshape(CLI::App& app, const ReshapeVerb& verb, bool runs) {
  auto flags = std::make_shared<ReshapeFlags>();
  flags->options.verb = verb.name;
  app.add_option("SOURCE", flags->options.sources,
                 "Data sets: folders, URLs, tar shards, @list.txt")
      ->required()
      ->type_name("");
  app.add_option("-o,--out", flags->options.out, "Where the new data set goes: a folder or URL")
      ->required()
      ->type_name("DEST");
  if (verb.add_options != nullptr) verb.add_options(app, *flags);
  CutOptions& cut = flags->options.cut;
  add_shard_options(app, flags->shards, cut.shard_samples, cut.shards, cut.name);
  app.add_option("--multiple-of", cut.multiple_of,
                 "A number of shards that N divides, of equal counts, so that N workers get "
                 "equally many")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32))
      ->group("Shards");
  app.add_flag("--rekey", flags->options.rekey, "Keys become 000000000, 000000001 …")
      ->group("Shards");
  if (!runs) {
    add_memory(app, flags->memory);
    add_scratch(app, *flags);
    return flags;
  }
  add_run_options(app, *flags);
  app.add_flag("--dry-run", flags->dry_run, "Print shards and samples; write nothing")
      ->group("Job");
  app.add_flag("--explain", flags->explain, "Say what would be done, why, and what it costs")
      ->group("Job");
  return flags;
}

Result<std::vector<ReshapeOptions>> reshape_options(const ReshapeFlags& flags,
                                                    const Context& context) {
  ReshapeOptions options = flags.options;
  if (!flags.shards.size.empty()) {
    HR_TRY(options.cut.shard_bytes, parse_bytes(flags.shards.size));
  }
  HR_TRY(const auto container, parse_container(flags.shards.container));
  const bool named = options.cut.name != CutOptions().name;
  if (container && !named)
    options.cut.name = "shard-%06d" + std::string(container_suffix(*container));
  if (container && container_of(options.cut.name) != container)
    return Error{
        .code = Code::kUsage,
        .message = "the names of --name are not those of --container " + flags.shards.container};
  options.room = {.threads = context.threads, .scratch = flags.run.scratch};
  HR_TRY(options.room.memory_bytes, parse_bytes(flags.memory));
  for (const ReshapeVerb* verb : reshape_verbs())
    if (verb->name == options.verb && verb->take != nullptr) HR_CHECK(verb->take(flags, options));
  if (flags.parts.empty()) return std::vector{options};
  return split_in_parts(flags.parts, options);
}

Result<RunOptions> run_options(const ReshapeFlags& flags, const Context& context) {
  RunOptions options = flags.run;
  HR_TRY(options.memory_bytes, parse_bytes(flags.memory));
  options.threads = context.threads;
  options.tool = "headrace " HEADRACE_VERSION;
  options.python = python_program();
  HR_CHECK(choose("--algorithm", flags.algorithm,
                  {{"auto", Algorithm::kAuto},
                   {"gather", Algorithm::kGather},
                   {"buckets", Algorithm::kBuckets}},
                  &options.algorithm));
  return options;
}

Result<int> run_and_report(const ReshapePlan& plan, const RunOptions& options, Context& context,
                           std::optional<uint64_t> task) {
  const auto start = std::chrono::steady_clock::now();
  auto done = [&] {
    const ProgressLine line(context, "writing", "samples");
    return task ? run_task(plan, *task, options, context.progress)
                : run_plan(plan, options, context.progress);
  }();
  if (!done.ok()) return resumable(std::move(done).error());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  for (const std::string& note : done->notes) context.note("note: " + printable(note));
  note_skipped(done->skipped, done->skipped_samples, done->corrupt_samples, context);
  if (context.json) print_report(plan, *done, passed.count(), context);
  HR_CHECK(context.out.flush());
  context.note(summary(*done, task.has_value(), passed.count()));
  if (changes_pictures(plan) && done->pictures.pictures > 0)
    context.note(describe_pictures(done->pictures));
  return 0;
}

void print_plan(const ReshapePlan& plan, const std::string& place, Context& context) {
  Output& out = context.out;
  if (context.json) {
    std::string text;
    Json json(text);
    json.object()
        .member("schema", "headrace.plan/1")
        .member("plan", plan.digest())
        .member("place", place)
        .member("verb", plan.assignment().verb)
        .member("out", plan.out())
        .member("tasks", plan.tasks())
        .member("samples", plan.order().size());
    json.key("shards").array();
    for (uint64_t task = 0; task < plan.tasks(); ++task) {
      const OutputShard shard = plan.shard(task);
      json.object().member("name", shard.name).member("samples", shard.samples).end();
    }
    json.end().end();
    return out.text(text + "\n");
  }
  if (!place.empty()) return out.text(printable(place) + "\n");
  for (uint64_t task = 0; task < plan.tasks(); ++task) {
    const OutputShard shard = plan.shard(task);
    out.name(shard.name);
    out.text("\t" + std::to_string(shard.samples) + "\n");
  }
}

Result<int> run_reshape(const ReshapeFlags& flags, Context& context) {
  HR_TRY(const auto jobs, reshape_options(flags, context));
  HR_TRY(const RunOptions run, run_options(flags, context));
  for (const ReshapeOptions& options : jobs) {
    HR_TRY(const ReshapePlan plan, plan_reshape(options));
    if (flags.explain) {
      explain_plan(plan, run, context);
      continue;
    }
    if (!flags.dry_run) {
      HR_TRY(const int code, run_and_report(plan, run, context));
      if (code != 0) return code;
      continue;
    }
    print_plan(plan, "", context);
    HR_CHECK(context.out.flush());
    context.note("would write " + format_number_of(plan.order().size(), "sample") + " in " +
                 format_number_of(plan.tasks(), "shard") + " to " + printable(plan.out()));
  }
  return 0;
}

}  // namespace headrace::cli
