// What the verbs of reshaping share: options, and running what they say. `headrace plan` takes the
// same verbs.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cli/command.h"
#include "cli/picture_options.h"
#include "cli/shard_options.h"
#include "job/reshape/run.h"
#include "job/reshape/verbs.h"

namespace headrace::cli {

/// The options as they were written.
struct ReshapeFlags {
  ReshapeOptions options;
  RunOptions run;
  ShardWords shards;
  std::string memory = "256MiB";
  bool dry_run = false;
  bool explain = false;
  std::string algorithm = "auto";
  std::string on_missing = "error";
  std::string on_conflict = "error";
  std::string sort_as = "text";
  std::string same;     ///< of dedupe: fields
  std::string command;  ///< of map: one of these two
  std::string function;
  std::string on_error = "error";
  PictureWords pictures;  ///< of convert
  std::string fraction;   ///< of select: 0.1 or 0.2-0.3
  std::string parts;      ///< of select: train=0.8,val=0.1,test=0.1
};

struct ReshapeVerb {
  const char* name;
  const char* summary;
  const char* examples;
  /// Its own options; nullptr: none.
  void (*add_options)(CLI::App& app, ReshapeFlags& flags);
  /// Checks what was written and fills it in; nullptr: nothing to do.
  Status (*take)(const ReshapeFlags& flags, ReshapeOptions& options) = nullptr;
};

std::span<const ReshapeVerb* const> reshape_verbs();

/// The options of `verb`; those of running it only with `runs`.
std::shared_ptr<ReshapeFlags> add_reshape(CLI::App& app, const ReshapeVerb& verb, bool runs);
/// Those of running a plan.
void add_run_options(CLI::App& app, ReshapeFlags& flags);

/// Checked, with what the frame knows.
/// Several where the verb writes several data sets (--parts).
Result<std::vector<ReshapeOptions>> reshape_options(const ReshapeFlags& flags,
                                                    const Context& context);
Result<RunOptions> run_options(const ReshapeFlags& flags, const Context& context);

/// Runs a plan with a line of progress and prints what came of it. `task`: only this one.
Result<int> run_and_report(const ReshapePlan& plan, const RunOptions& options, Context& context,
                           std::optional<uint64_t> task = std::nullopt);
/// What a plan would do.
void print_plan(const ReshapePlan& plan, const std::string& place, Context& context);

/// Why and at what cost, for people; or as JSON.
void explain_plan(const ReshapePlan& plan, const RunOptions& options, Context& context);

/// Plan and run.
Result<int> run_reshape(const ReshapeFlags& flags, Context& context);

}  // namespace headrace::cli
