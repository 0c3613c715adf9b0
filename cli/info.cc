// headrace info: a data set on one page.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "headrace/dataset.h"
#include "job/survey.h"
#include "plan/manifest.h"
#include "plan/shard_table.h"

namespace headrace::cli {
namespace {

constexpr size_t kClassLines = 10;
constexpr double kBarColumns = 30;

struct Options {
  std::vector<std::string> locations;
  std::string key_rule = "webdataset";
  std::string cache = {};
  std::string classes;
};

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0')
      return std::strstr(value, "UTF-8") != nullptr || std::strstr(value, "utf8") != nullptr;
  }
  return false;
}

/// A bar of eighths of a column where the terminal has them, else of '#'.
std::string bar(double share) {
  static const bool fine = utf8_locale();
  if (!fine) return std::string(static_cast<size_t>(share * kBarColumns + 0.5), '#');
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<size_t>(share * kBarColumns * 8 + 0.5);
  std::string text;
  for (size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

std::string left(std::string text, size_t columns) {
  text.resize(std::max(columns, text.size()), ' ');
  return text;
}

std::string right(const std::string& text, size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ') + text;
}

std::string percent(uint64_t part, uint64_t whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.4g%%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

uint64_t payload_bytes(const Manifest& manifest) {
  uint64_t bytes = 0;
  for (const FieldSummary& field : manifest.fields) bytes += field.bytes;
  return bytes;
}

/// The largest shard's samples over the mean: 1 is even.
double imbalance(const Dataset& set, const Survey& survey) {
  if (set.size() == 0) return 1;
  return static_cast<double>(survey.shard_samples.max) * set.shards() /
         static_cast<double>(set.size());
}

class Page {
 public:
  Page(const Dataset& set, const Survey& survey, Output& out)
      : set_(set), survey_(survey), out_(out) {}

  void print() {
    head();
    fields();
    shards();
    if (survey_.classes) classes(*survey_.classes);
    for (const std::string& hint : survey_.hints) line("hint: " + hint);
  }

 private:
  void line(const std::string& text) {
    out_.name(text);
    out_.text("\n");
  }

  void head() {
    const Manifest& manifest = set_.manifest();
    line(set_.name());
    line("  samples      " + format_count(set_.size()));
    line("  shards       " + format_count(set_.shards()) + " (" +
         container_name(manifest.container) + (set_.has_manifest() ? ")" : ", no manifest)"));
    line("  bytes        " + format_bytes(manifest.bytes) + " (data " +
         format_bytes(payload_bytes(manifest)) + ")");
    line("  fingerprint  " + set_.fingerprint());
    std::string measured;
    for (const FieldSummary& field : manifest.fields)
      if (field.unit != Unit::kNone)
        measured +=
            (measured.empty() ? "" : ", ") + field.name + ":" + std::string(unit_name(field.unit));
    if (!measured.empty()) line("  measured     " + measured);
    line("");
  }

  void fields() {
    size_t widest = 5;
    for (const FieldSurvey& field : survey_.fields)
      widest = std::max(widest, printable(field.name).size());
    const std::string median = survey_.exact_medians ? "median" : "~median";
    line("  " + left("field", widest) + right("samples", 13) + right("have it", 9) +
         right("min", 11) + right(median, 11) + right("max", 11) + right("total", 11));
    for (const FieldSurvey& field : survey_.fields)
      line("  " + left(field.name, widest) + right(format_count(field.count), 13) +
           right(percent(field.count, set_.size()), 9) + right(format_bytes(field.size.min), 11) +
           right(format_bytes(field.size.median), 11) + right(format_bytes(field.size.max), 11) +
           right(format_bytes(field.bytes), 11));
    line("");
  }

  void shards() {
    const Survey& s = survey_;
    line("  " + left("", 16) + right("min", 11) + right("median", 11) + right("max", 11));
    line("  " + left("shard samples", 16) + right(format_count(s.shard_samples.min), 11) +
         right(format_count(s.shard_samples.median), 11) +
         right(format_count(s.shard_samples.max), 11));
    line("  " + left("shard bytes", 16) + right(format_bytes(s.shard_bytes.min), 11) +
         right(format_bytes(s.shard_bytes.median), 11) +
         right(format_bytes(s.shard_bytes.max), 11));
    line("  " + left("block samples", 16) + right(format_count(s.block_samples.min), 11) +
         right(format_count(s.block_samples.median), 11) +
         right(format_count(s.block_samples.max), 11));
    char text[80];
    std::snprintf(text, sizeof text, "  %s; the largest shard has %.2f x the mean",
                  format_number_of(s.blocks, "block").c_str(), imbalance(set_, s));
    line(text);
    line("");
  }

  void classes(const ClassSurvey& found) {
    const auto& all = found.classes;
    if (all.empty()) return;
    line("  " + format_count(all.size()) + (all.size() == 1 ? " class by '" : " classes by '") +
         found.field + "': " + format_count(all.back().count) + " to " +
         format_number_of(all.front().count, "sample"));
    const size_t shown = all.size() <= kClassLines + 1 ? all.size() : kClassLines;
    size_t widest = 0;
    for (size_t i = 0; i < shown; ++i) widest = std::max(widest, printable(title(all[i])).size());
    for (size_t i = 0; i < shown; ++i)
      line("  " + left(title(all[i]), widest) + right(format_count(all[i].count), 11) + "  " +
           bar(static_cast<double>(all[i].count) / static_cast<double>(all.front().count)));
    if (shown < all.size()) line("  and " + format_count(all.size() - shown) + " more");
    line("");
  }

  static std::string title(const ClassCount& one) {
    return one.name.empty() ? one.label : one.label + " " + one.name;
  }

  const Dataset& set_;
  const Survey& survey_;
  Output& out_;
};

void spread_json(Json& json, std::string_view name, const Spread& spread) {
  json.key(name).object().member("min", spread.min).member("median", spread.median);
  json.member("max", spread.max).end();
}

void print_json(const Dataset& set, const Survey& survey, Output& out) {
  const Manifest& manifest = set.manifest();
  std::string text;
  Json json(text);
  json.object().member("schema", "headrace.info/1").member("name", set.name());
  json.member("manifest", set.has_manifest()).member("fingerprint", set.fingerprint());
  json.member("container", container_name(manifest.container)).member("samples", set.size());
  json.member("shards", set.shards()).member("bytes", manifest.bytes);
  json.key("measures").object();
  for (const FieldSummary& field : manifest.fields)
    if (field.unit != Unit::kNone) json.member(field.name, unit_name(field.unit));
  json.end();
  json.member("payload_bytes", payload_bytes(manifest)).key("fields").array();
  for (const FieldSurvey& field : survey.fields) {
    json.object().member("name", field.name).member("count", field.count);
    json.member("bytes", field.bytes);
    spread_json(json, "size", field.size);
    json.end();
  }
  json.end().member("exact_medians", survey.exact_medians);
  spread_json(json, "shard_samples", survey.shard_samples);
  spread_json(json, "shard_bytes", survey.shard_bytes);
  spread_json(json, "block_samples", survey.block_samples);
  json.member("blocks", survey.blocks).member("imbalance", imbalance(set, survey)).key("classes");
  if (survey.classes) {
    json.object().member("field", survey.classes->field);
    json.member("labelled", survey.classes->labelled).key("counts").array();
    for (const ClassCount& one : survey.classes->classes) {
      json.object().member("label", one.label);
      if (!one.name.empty()) json.member("name", one.name);
      json.member("count", one.count).end();
    }
    json.end().end();
  } else {
    json.null();
  }
  json.key("hints").array();
  for (const std::string& hint : survey.hints) json.value(hint);
  json.end().end();
  out.text(text + "\n");
}

Result<int> run(const Options& options, Context& context) {
  HR_TRY(const auto set, Dataset::open(options.locations, {.key_rule = options.key_rule,
                                                           .threads = context.threads,
                                                           .cache_folder = options.cache}));
  auto surveyed = [&] {
    const ProgressLine line(context, "reading labels", "samples");
    return survey(*set, {.class_field = options.classes}, context.progress);
  }();
  HR_TRY(const Survey found, std::move(surveyed));
  if (context.json)
    print_json(*set, found, context.out);
  else
    Page(*set, found, context.out).print();
  return 0;
}

}  // namespace

const Verb kInfo{
    .name = "info",
    .summary = "Show what a data set holds: counts, sizes, fields, balance",
    .examples =
        "headrace info shards/\n"
        "headrace info shards/ --classes cls   # count classes however many samples\n"
        "headrace info 'train-{000..099}.tar' --json | jq .samples\n",
    .setup = [](CLI::App& app) -> Action {
      auto o = std::make_shared<Options>();
      app.add_option("DATASET", o->locations,
                     "Folder, manifest, shards, brace range, glob or @list")
          ->required()
          ->type_name("");
      app.add_option("--classes", o->classes,
                     "Count classes by this field (cls up to 100,000 samples if not given)")
          ->type_name("FIELD");
      app.add_option("--cache", o->cache, "Folder of the node's cache (HEADRACE_CACHE)")
          ->type_name("FOLDER");
      app.add_option("--key", o->key_rule,
                     "Key rule without a manifest: webdataset, base, path, flat, REGEX")
          ->type_name("RULE");
      return [o](Context& context) { return run(*o, context); };
    }};

}  // namespace headrace::cli
