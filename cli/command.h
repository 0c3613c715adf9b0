// What a verb of the command line is, and what it gets to work with. One file a verb:
//
//   // ls.cc
//   const Verb kLs{.name = "ls", .summary = "List the samples of a data set",
//                  .examples = "headrace ls shards/ | head\n",
//                  .setup = [](CLI::App& app) -> Action {
//                    auto options = std::make_shared<Options>();
//                    app.add_option("DATASET", options->locations, "What to list")->required();
//                    return [options](Context& context) { return run(*options, context); };
//                  }};
//
// and one line in verbs.h, which the file includes. An action returns the exit code, or an error,
// which the frame prints (as JSON with --json) and turns into its exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/output.h"
#include "headrace/result.h"
#include "job/progress.h"

namespace headrace::cli {

/// What the frame hands to a verb. Lives as long as the program.
struct Context {
  bool json = false;     ///< --json: machine-readable data on standard output
  bool quiet = false;    ///< --quiet: no progress and no summaries on standard error
  unsigned threads = 0;  ///< --threads; 0: as many as there are processors
  Progress& progress;    ///< pass to jobs; `stop` is set by Ctrl-C when the verb is `stoppable`
  Output& out;           ///< standard output; flushed and checked by the frame at the end

  /// A line for people on standard error, unless --quiet.
  void note(const std::string& line) const;
};

using Action = std::function<Result<int>(Context&)>;

struct Verb {
  const char* name;
  const char* summary;   ///< one line, a verb first, without a full stop
  const char* examples;  ///< one command a line
  Action (*setup)(CLI::App& app);
  /// The action polls Progress::stop and returns Code::kInterrupted. Otherwise Ctrl-C ends the
  /// process at once, which is right for verbs that only read.
  bool stoppable = false;
  /// What verbs do that share a line of `headrace --help`; nullptr: it has one of its own.
  const char* group = nullptr;
};

/// For options that count: digits alone, and no less than `least`. By itself CLI11 takes -1 for a
/// number of twenty digits.
CLI::Validator whole_number(uint64_t least = 0);

/// Prints `error: … (shard, member, at byte)` and `hint: …` on standard error, or one JSON object.
void print_error(const Error& error, bool json);

/// "message (shard S, member M, at byte N)" with the parts that are known.
std::string error_line(const Error& error);

/// True when colours and redrawn lines are wanted on this descriptor: a terminal, no NO_COLOR
/// (colours only), TERM not "dumb".
bool is_terminal(int descriptor);
bool wants_colour(int descriptor);

}  // namespace headrace::cli
