// headrace pack: files become tar shards with index, checksums and manifest.
#include "job/pack.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/picture_options.h"
#include "cli/progress.h"
#include "cli/sample_options.h"
#include "cli/shard_options.h"
#include "cli/verbs.h"
#include "dataset/containers.h"

namespace headrace::cli {
namespace {

struct Options {
  PackOptions pack;
  SampleOptions samples;
  PictureWords pictures;
  std::string measure;
  std::string label_from;
  std::string on_error = "error";
  ShardWords shards;
  std::string memory = "256MiB";
  std::optional<uint64_t> shuffle;
  std::string folders;
  std::string on_unmapped = "error";
  bool explain = false;
};

Result<PackOptions> parse(const Options& o, const Context& context) {
  PackOptions pack = o.pack;
  if (!o.label_from.empty())
    HR_CHECK(choose("--label-from", o.label_from,
                    {{"folder", LabelFrom::kFolder}, {"parent", LabelFrom::kParent}},
                    &pack.label_from));
  HR_CHECK(take_sample_options(o.samples, &pack));
  HR_CHECK(choose("--on-error", o.on_error,
                  {{"error", OnBadSample::kError}, {"skip", OnBadSample::kSkip}}, &pack.on_error));
  if (!o.folders.empty())
    HR_CHECK(choose("--folders", o.folders,
                    {{"keep", Folders::kKeep}, {"collapse", Folders::kCollapse}}, &pack.folders));
  HR_CHECK(choose("--on-unmapped", o.on_unmapped, {{"error", false}, {"drop-sample", true}},
                  &pack.drop_unmapped));
  HR_TRY(pack.pictures, parse_picture_options(o.pictures));
  HR_TRY(pack.measures, parse_field_units(o.measure));
  HR_TRY(pack.container, parse_container(o.shards.container));
  if (!o.shards.size.empty()) {
    HR_TRY(pack.shard_bytes, parse_bytes(o.shards.size));
  }
  HR_TRY(pack.memory_bytes, parse_bytes(o.memory));
  pack.shuffle = o.shuffle.has_value();
  pack.seed = o.shuffle.value_or(0);
  pack.threads = context.threads;
  pack.tool = "headrace " HEADRACE_VERSION;
  pack.dry_run = pack.dry_run || o.explain;
  return pack;
}

void write_json(const PackOptions& options, const PackReport& report, double seconds,
                Context& context) {
  std::string text;
  Json json(text);
  json.object()
      .member("out", options.out)
      .member("dry_run", options.dry_run)
      .member("complete_before", report.complete_before)
      .member("samples", report.samples)
      .member("files", report.files)
      .member("payload_bytes", report.payload_bytes)
      .member("bytes", report.bytes)
      .member("shards_resumed", report.shards_resumed)
      .member("plan", report.plan)
      .member("fingerprint", report.fingerprint)
      .member("seconds", seconds);
  const auto list = [&json](const char* name, const std::vector<std::string>& values) {
    json.key(name).array();
    for (const std::string& value : values) json.value(value);
    json.end();
  };
  list("fields", report.fields);
  list("classes", report.classes);
  list("notes", report.notes);
  write_skipped(report.skipped, report.skipped_samples, report.corrupt_samples, json);
  if (options.pictures.any()) write_pictures(report.pictures, json.key("pictures"));
  json.key("shards").array();
  for (const PackedShard& shard : report.shards)
    json.object()
        .member("name", shard.name)
        .member("samples", shard.samples)
        .member("bytes", shard.bytes)
        .end();
  json.end().end();
  context.out.text(text + "\n");
}

std::string totals(const PackReport& report) {
  return format_number_of(report.samples, "sample") + " (" +
         format_number_of(report.files, "file") + ", " + format_bytes(report.payload_bytes) +
         ") in " + format_number_of(report.shards.size(), "shard") + " (" +
         format_bytes(report.bytes) + ")";
}

void write_plan(const PackOptions& options, const PackReport& report, Context& context) {
  Output& out = context.out;
  for (const PackedShard& shard : report.shards) {
    out.name(shard.name);
    out.text("\t" + std::to_string(shard.samples) + "\t" + std::to_string(shard.bytes) + "\n");
  }
  context.note((report.complete_before ? "would do nothing, for it holds: " : "would write ") +
               totals(report) + " to " + printable(options.out));
}

std::string order_text(const PackOptions& options) {
  std::string text = options.shuffle ? "shuffled, seed " + std::to_string(options.seed) +
                                           ": every shard is a fair draw of the whole"
                                     : "by path";
  if (!options.key_map.empty()) text += ", to the shards that the key map names";
  if (options.folders == Folders::kKeep) text += "; no shard holds samples of two folders";
  if (options.folders == Folders::kCollapse)
    text += "; what does not fill a shard of its folder goes up";
  return text + "\n";
}

void explain(const PackOptions& options, const PackReport& report, Context& context) {
  Output& out = context.out;
  uint64_t least = ~uint64_t{0};
  uint64_t most = 0;
  for (const PackedShard& shard : report.shards) {
    least = std::min(least, shard.bytes);
    most = std::max(most, shard.bytes);
  }
  out.text("input     " + format_number_of(report.files, "file") + ", " +
           format_bytes(report.payload_bytes) + ", by path, size and time of change\n");
  out.text("samples   " + format_count(report.samples) + ", by the key rule '" +
           printable(options.key_rule) + "'; fields:");
  for (const std::string& field : report.fields) out.text(" " + printable(field));
  out.text("\norder     ");
  out.text(order_text(options));
  if (!report.shards.empty()) {
    out.text("shards    " + format_count(report.shards.size()) + ", " +
             printable(report.shards.front().name) + " to " + printable(report.shards.back().name) +
             ", " + format_bytes(least) + " to " + format_bytes(most) + "\n");
  }
  out.text(
      "tar       headers and padding take " + format_bytes(report.bytes - report.payload_bytes) +
      (is_compressed(report.container) ? ", before they are compressed (" +
                                             std::string(container_name(report.container)) + ")\n"
                                       : "\n"));
  out.text("memory    " + format_bytes(options.memory_bytes) + " of buffers at most\n");
  out.text("commit    marker, shards, records, tables, then headrace.json" +
           std::string(options.fsync ? ", with fsync before it\n" : ", without fsync\n"));
  out.text("plan      " + report.plan + "\n");
}

Result<int> run(const Options& o, Context& context) {
  HR_TRY(const PackOptions options, parse(o, context));
  const auto start = std::chrono::steady_clock::now();
  Result<PackReport> packed = [&] {
    const ProgressLine line(context, "packing", "samples");
    return pack(options, context.progress);
  }();
  if (!packed.ok()) return resumable(std::move(packed).error());
  const PackReport& report = *packed;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  for (const std::string& note : report.notes) context.note("note: " + printable(note));
  note_skipped(report.skipped, report.skipped_samples, report.corrupt_samples, context);
  if (context.json) {
    write_json(options, report, seconds, context);
  } else if (o.explain) {
    explain(options, report, context);
  } else if (options.dry_run) {
    write_plan(options, report, context);
  } else if (report.complete_before) {
    context.note("nothing to do: " + printable(options.out) + " holds exactly this, " +
                 totals(report));
  } else {
    context.note("packed " + totals(report) + " to " + printable(options.out) + " in " +
                 format_seconds(seconds) +
                 (report.shards_resumed > 0
                      ? "; " + format_number_of(report.shards_resumed, "shard") + " there already"
                      : ""));
    if (options.pictures.any()) context.note(describe_pictures(report.pictures));
  }
  return 0;
}

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  PackOptions& pack = o->pack;
  app.add_option(
         "SOURCE", pack.sources,
         "Folders, files, archives, the same as URLs, @list.txt, or - (a list on standard input)")
      ->required()
      ->type_name("");
  app.add_option("-o,--out", pack.out, "Where the data set goes: a folder")
      ->required()
      ->type_name("DEST");

  const std::string samples = "Samples";
  add_key_option(app, o->samples);
  add_sample_options(app, o->samples, samples);
  app.add_option("--label-from", o->label_from,
                 "Add the field cls, a class number, from the first 'folder' below the source or "
                 "from the 'parent' folder of the file")
      ->type_name("WHAT")
      ->group(samples);
  app.add_option("--on-error", o->on_error,
                 "A file changed, vanished or cannot be read: error, skip (the sample)")
      ->type_name("POLICY")
      ->group(samples);

  app.add_option("--measure", o->measure,
                 "What the index keeps of fields besides their bytes, for buckets of like length: "
                 "jpg=pixels,txt=tokens,wav=frames; or value, the number that the field says")
      ->type_name("LIST")
      ->group(samples);

  add_picture_options(app, o->pictures);

  add_shard_options(app, o->shards, pack.shard_samples, pack.shards, pack.name);
  app.add_option("--shuffle", o->shuffle, "Order by this seed instead of by path")
      ->type_name("SEED")
      ->check(whole_number())
      ->group("Shards");
  app.add_option(
         "--folders", o->folders,
         "keep: no shard holds samples of two folders; collapse: what does not fill a shard "
         "goes up to the folder above, and shares shards there")
      ->type_name("MODE")
      ->group("Shards");
  app.add_option(
         "--key-map", pack.key_map,
         "To named shards: JSON {\"cats-%d.tar\": [\"cat.*\", …]} or lines KEY<TAB>TEMPLATE")
      ->type_name("FILE")
      ->group("Shards");
  app.add_option("--on-unmapped", o->on_unmapped,
                 "The key map does not name a sample: error, drop-sample")
      ->type_name("POLICY")
      ->group("Shards");

  const std::string job = "Job";
  add_writing_options(app, pack.replace, pack.fsync, pack.verify, o->memory);
  app.add_flag("--append", pack.append,
               "Add shards to the data set there, as a new version; readers of the old one go on")
      ->group(job);
  app.add_flag("--dry-run", pack.dry_run, "Print shard, samples, bytes; write nothing")->group(job);
  app.add_flag("--explain", o->explain, "Say what would be done and why; write nothing")
      ->group(job);
  return [o](Context& context) { return run(*o, context); };
}

}  // namespace

const Verb kPack{
    .name = "pack",
    .summary = "Pack files into shards with index, checksums and manifest",
    .examples =
        "headrace pack photos/ --out shards/\n"
        "headrace pack train/ --out shards/ --label-from folder --shuffle 7\n"
        "headrace pack images/ labels/ --out shards/ --fields jpg,json --samples 1000\n"
        "headrace pack stamps/ --out s/ --key '(?<key>.*?)(_(?<l>desc_..))?\\.(?<field>.*)'\n"
        "headrace pack photos/ --out s/ --image 'max-side=512, quality=90' --drop-corrupt\n"
        "headrace pack texts/ --out shards/ --container tar.zst\n"
        "headrace pack photos/ --out shards/ --folders collapse --shard-size 256MiB\n"
        "find . -name '*.jpg' -print0 | headrace pack - --out shards/\n",
    .setup = setup,
    .stoppable = true};

}  // namespace headrace::cli
