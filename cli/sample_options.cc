#include "cli/sample_options.h"

#include <algorithm>

#include "base/units.h"

namespace headrace::cli {

void add_key_option(CLI::App& app, SampleOptions& options) {
  app.add_option("--key", options.key_rule,
                 "How a name becomes key and field: webdataset, base, path, flat, or a REGEX with "
                 "groups 'key' and 'field'")
      ->type_name("RULE");
}

void add_sample_options(CLI::App& app, SampleOptions& options, const std::string& group) {
  app.add_option("--fields", options.fields, "Take only these, as jpg,cls")
      ->type_name("LIST")
      ->group(group);
  app.add_option("--on-missing", options.on_missing,
                 "A sample lacks a field: error, warn, ignore, drop-sample, drop-field")
      ->type_name("POLICY")
      ->group(group);
  app.add_option("--on-duplicate", options.on_duplicate,
                 "Two files are one field: error, first, last, rename")
      ->type_name("POLICY")
      ->group(group);
  app.add_flag("--hidden", options.hidden, "Also files whose names start with a dot")->group(group);
}

Status choose_duplicate(const std::string& text, OnDuplicate* into) {
  return choose("--on-duplicate", text,
                {{"error", OnDuplicate::kError},
                 {"first", OnDuplicate::kFirst},
                 {"last", OnDuplicate::kLast},
                 {"rename", OnDuplicate::kRename}},
                into);
}

Status choose_missing(const std::string& text, std::optional<OnMissing>* into) {
  if (text.empty()) return {};
  OnMissing policy = OnMissing::kError;
  HR_CHECK(choose("--on-missing", text,
                  {{"error", OnMissing::kError},
                   {"warn", OnMissing::kWarn},
                   {"ignore", OnMissing::kIgnore},
                   {"drop-sample", OnMissing::kDropSample},
                   {"drop-field", OnMissing::kDropField}},
                  &policy));
  *into = policy;
  return {};
}

std::vector<std::string> split_fields(const std::string& text) {
  std::vector<std::string> fields;
  std::string field;
  for (const char c : text + ",") {
    if (c != ',' && c != ';' && c != ' ') {
      field += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      continue;
    }
    if (field.starts_with('.')) field.erase(0, 1);
    if (!field.empty()) fields.push_back(field);
    field.clear();
  }
  return fields;
}

void note_skipped(const std::vector<SkippedSample>& skipped, uint64_t all, uint64_t corrupt,
                  const Context& context) {
  constexpr size_t kNamed = 10;
  for (size_t i = 0; i < std::min(skipped.size(), kNamed); ++i) {
    const SkippedSample& sample = skipped[i];
    context.note("left out: " + printable(sample.key) + ": " +
                 (sample.corrupt ? printable(sample.file) + ": " : "") + printable(sample.reason));
  }
  if (skipped.size() > kNamed)
    context.note("left out: " + format_count(skipped.size() - kNamed) + " more");
  if (corrupt > 0)
    context.note("left out: " + format_number_of(all, "sample") + " in all, " +
                 format_count(corrupt) + " with a corrupt picture");
}

void write_skipped(const std::vector<SkippedSample>& skipped, uint64_t all, uint64_t corrupt,
                   Json& json) {
  json.key("skipped").array();
  for (const SkippedSample& sample : skipped)
    json.object()
        .member("key", sample.key)
        .member("file", sample.file)
        .member("reason", sample.reason)
        .member("corrupt", sample.corrupt)
        .end();
  json.end().member("skipped_samples", all).member("corrupt_samples", corrupt);
}

Error resumable(Error error) {
  if (error.code == Code::kInterrupted && error.hint.empty())
    error.hint = "The same command goes on where it was stopped.";
  return error;
}

}  // namespace headrace::cli
