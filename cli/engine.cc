#include "cli/engine.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace headrace::cli {

std::string python_program() {
  if (const char* named = std::getenv("HEADRACE_PYTHON"); named != nullptr) return named;
  std::error_code none;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  const auto beside = here / "python3";
  return !none && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "python3";
}

namespace {

std::vector<std::string> driver_command(const EngineFlags& engine, const std::string& plan,
                                        const ReshapeFlags& run, const Context& context) {
  std::vector<std::string> command{python_program(), "-m", "headrace.drivers", engine.name, plan};
  if (context.json) command.emplace_back("--json");
  if (context.quiet) command.emplace_back("--quiet");
  if (context.threads > 0) command.push_back("--threads=" + std::to_string(context.threads));
  if (run.run.replace) command.emplace_back("--replace");
  if (!run.run.fsync) command.emplace_back("--no-fsync");
  if (run.run.verify) command.emplace_back("--verify");
  command.push_back("--memory=" + run.memory);
  command.push_back("--algorithm=" + run.algorithm);
  if (!run.run.scratch.empty()) command.push_back("--scratch=" + run.run.scratch);
  command.insert(command.end(), engine.options.begin(), engine.options.end());
  return command;
}

}  // namespace

void add_engine(CLI::App& app, EngineFlags& flags) {
  app.add_option("--engine", flags.name, "Who runs the tasks: threads, ray or slurm (threads)")
      ->check(CLI::IsMember({"threads", "ray", "slurm"}))
      ->type_name("NAME")
      ->group("Job");
  app.add_option("OPTIONS", flags.options, "Behind '--': those of ray or slurm, or --help")
      ->type_name("");
}

Error become_driver(const EngineFlags& engine, const std::string& plan, const ReshapeFlags& run,
                    const Context& context) {
  std::vector<std::string> command = driver_command(engine, plan, run, context);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  return {.message = "cannot run '" + command[0] + "': " + std::strerror(errno),
          .hint =
              "The drivers of ray and slurm are Python: name one that has the package headrace "
              "in HEADRACE_PYTHON."};
}

}  // namespace headrace::cli
