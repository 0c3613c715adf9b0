// What pack and index share: the options that say how files become samples, choices by name, and
// how a job that was stopped is reported.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "cli/command.h"
#include "headrace/result.h"
#include "job/pack.h"

namespace headrace::cli {

/// The value of `text` among the named choices; Code::kUsage that lists them otherwise.
template <typename T>
Status choose(const std::string& option, const std::string& text,
              const std::vector<std::pair<const char*, T>>& choices, T* into) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) {
      *into = value;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return Error{.code = Code::kUsage,
               .message = option + " is one of " + names + ", not '" + text + "'",
               .origin = {},
               .hint = {}};
}

/// The options as they were written.
struct SampleOptions {
  std::string key_rule = "webdataset";
  std::string fields;
  std::string on_missing;
  std::string on_duplicate = "error";
  bool hidden = false;
};

void add_key_option(CLI::App& app, SampleOptions& options);
/// All but the key, in a group of the help.
void add_sample_options(CLI::App& app, SampleOptions& options, const std::string& group);

Status choose_duplicate(const std::string& text, OnDuplicate* into);
/// "" leaves it unset.
Status choose_missing(const std::string& text, std::optional<OnMissing>* into);
/// "jpg,.CLS" -> jpg, cls
std::vector<std::string> split_fields(const std::string& text);

/// Checks them and fills them into the options of a job.
template <typename JobOptions>
Status take_sample_options(const SampleOptions& options, JobOptions* into) {
  HR_CHECK(choose_duplicate(options.on_duplicate, &into->on_duplicate));
  HR_CHECK(choose_missing(options.on_missing, &into->on_missing));
  into->key_rule = options.key_rule;
  into->fields = split_fields(options.fields);
  into->hidden = options.hidden;
  return {};
}

/// Lines for people: the samples that were left out, but for most of many; and, where a picture of
/// one is corrupt, how many there are.
void note_skipped(const std::vector<SkippedSample>& skipped, uint64_t all, uint64_t corrupt,
                  const Context& context);
/// The same as members of an object.
void write_skipped(const std::vector<SkippedSample>& skipped, uint64_t all, uint64_t corrupt,
                   Json& json);

/// The error of a job that the same command resumes, with this said when it was interrupted.
Error resumable(Error error);

}  // namespace headrace::cli
