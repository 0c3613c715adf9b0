#include "cli/map_options.h"

#include "cli/sample_options.h"

namespace headrace::cli {

void add_map(CLI::App& app, ReshapeFlags& flags) {
  const std::string group = "What to do with each sample";
  app.add_option("--command", flags.command,
                 "Run by sh in a folder of its own with the files sample.FIELD; what it leaves "
                 "there is the sample, sample-NAME.FIELD are more of them")
      ->type_name("CMD")
      ->group(group);
  app.add_option("--python", flags.function,
                 "Call this with {\"__key__\": …, FIELD: bytes, …}; it returns such a dict, a list "
                 "of them, or None")
      ->type_name("MODULE:FUNCTION")
      ->group(group);
  app.add_option("--on-error", flags.on_error, "Where it fails: error, skip (the sample)")
      ->type_name("POLICY")
      ->group(group);
}

Status take_map(const ReshapeFlags& flags, ReshapeOptions& options) {
  if (flags.command.empty() == flags.function.empty())
    return Error{.code = Code::kUsage,
                 .message = "map wants one of --command and --python",
                 .hint = "For example --command 'convert sample.jpg -resize 256x256 sample.jpg'"};
  MapStep& step = options.map.emplace();
  const bool python = flags.command.empty();
  step.kind = python ? MapStep::Kind::kPython : MapStep::Kind::kCommand;
  step.what = python ? flags.function : flags.command;
  return choose("--on-error", flags.on_error, {{"error", false}, {"skip", true}}, &step.skip);
}

}  // namespace headrace::cli
