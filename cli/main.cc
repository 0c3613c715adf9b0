// The frame of the command line: finds the verb, reads its options, runs it, and turns what comes
// back into text and an exit code.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "cli/command.h"
#include "cli/suggest.h"
#include "cli/verbs.h"
#include "headrace/notes.h"

namespace headrace::cli {
namespace {

constexpr int kInterruptedExit = 130;

Progress g_progress;
volatile std::sig_atomic_t g_stoppable = 0;

// The first signal asks a stoppable verb to stop; any other ends the process at once.
void on_stop_signal(int) {
  const bool again = g_progress.stop.exchange(true);
  if (again || g_stoppable == 0) ::_exit(kInterruptedExit);
}

void install_signals() {
  struct sigaction stop {};
  stop.sa_handler = on_stop_signal;
  ::sigaction(SIGINT, &stop, nullptr);
  ::sigaction(SIGTERM, &stop, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is seen as EPIPE by Output
}

std::string version_text(bool json) {
  if (!json) return "headrace " HEADRACE_VERSION "\n";
  std::string text;
  Json(text).object().member("name", "headrace").member("version", HEADRACE_VERSION).end();
  return text + "\n";
}

// A line a verb, or a group of them.
std::string verb_lines() {
  std::string text;
  const char* group = nullptr;
  for (const Verb* verb : kVerbs) {
    if (group != nullptr && group != verb->group) text += std::string("  ") + group + "\n";
    std::string name = verb->name;
    if (verb->group == nullptr) {
      name.resize(std::max<size_t>(10, name.size() + 1), ' ');
      text += "  " + name + verb->summary + "\n";
    } else {
      text += (group == verb->group ? " " : "  ") + name;
    }
    group = verb->group;
  }
  return text;
}

std::string top_help() {
  const std::string text =
      "headrace packs, checks and streams training data sets.\n\n"
      "Examples:\n"
      "  headrace pack photos/ --out shards/          files into tar shards with an index\n"
      "  headrace info shards/                        counts, sizes, fields, balance\n"
      "  headrace shuffle shards/ --out new/          a new order, every shard a fair draw\n\n"
      "Verbs:\n" +
      verb_lines();
  return text +
         "\nEvery verb takes --json, --quiet, --threads N and --help.\n"
         "Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 corrupt data, 5 partial (run it\n"
         "again), 6 input changed, 7 permission, 8 no space, 130 interrupted.\n";
}

/// Help of a verb: what it does, examples, then how it is called and its options.
class Help : public CLI::Formatter {
 public:
  Help() { column_width(30); }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string examples;
    for (const std::string& line : CLI::detail::split(app->get_footer(), '\n'))
      if (!line.empty()) examples += "  " + line + "\n";
    return app->get_description() + "\n\nExamples:\n" + examples + "\n" + make_usage(app, name) +
           make_positionals(app) + make_groups(app, mode);
  }
};

const Verb* find_verb(std::string_view name) {
  for (const Verb* verb : kVerbs)
    if (name == verb->name) return verb;
  return nullptr;
}

Error unknown_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb* verb : kVerbs) names.emplace_back(verb->name);
  const std::string near = nearest(word, names);
  return {.code = Code::kUsage,
          .message = "there is no verb '" + word + "'",
          .hint = near.empty() ? "'headrace --help' lists the verbs."
                               : "Did you mean 'headrace " + near + "'?"};
}

Error usage_error(const CLI::App& app, const CLI::ParseError& problem) {
  Error error{.code = Code::kUsage,
              .message = problem.what(),
              .hint = "'" + app.get_name() + " --help' shows what it takes."};
  const std::vector<std::string> left = app.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) == nullptr || left.empty()) return error;
  const std::string word = left.front().substr(0, left.front().find('='));
  error.message = "'" + word + "' was not expected";
  if (word.rfind("--", 0) != 0) return error;
  std::vector<std::string> options;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  const std::string near = nearest(word, options);
  error.message = "there is no option '" + word + "'";
  if (!near.empty()) error.hint = "Did you mean '" + near + "'?";
  return error;
}

int fail(const Error& error, bool json) {
  print_error(error, json);
  return exit_code(error.code);
}

int run_action(const Verb& verb, const Action& action, Context& context) {
  g_stoppable = verb.stoppable ? 1 : 0;
  const Result<int> result = action(context);
  for (const std::string& note : take_notes()) context.note("note: " + note);
  const Status flushed = context.out.flush();
  if (!result) return fail(result.error(), context.json);
  if (!flushed) return fail(flushed.error(), context.json);
  return *result;
}

int run_verb(const Verb& verb, std::vector<std::string> words) {
  Output out(STDOUT_FILENO);
  Context context{.progress = g_progress, .out = out};
  context.json = std::find(words.begin(), words.end(), "--json") != words.end();

  CLI::App app(std::string(verb.summary) + ".", "headrace " + std::string(verb.name));
  app.formatter(std::make_shared<Help>());
  app.footer(verb.examples);
  const Action action = verb.setup(app);
  app.add_flag("--json", context.json, "Machine-readable output");
  app.add_flag("-q,--quiet", context.quiet, "No progress, no summaries");
  app.add_option("-j,--threads", context.threads, "Threads (0: one a processor)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  try {
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    out.text(app.help());
    const Status flushed = out.flush();
    return flushed ? 0 : fail(flushed.error(), false);
  } catch (const CLI::ParseError& problem) {
    return fail(usage_error(app, problem), context.json);
  }
  return run_action(verb, action, context);
}

int print(const std::string& text) {
  Output out(STDOUT_FILENO);
  out.text(text);
  const Status flushed = out.flush();
  return flushed ? 0 : fail(flushed.error(), false);
}

int run(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return print(top_help());
  if (words[0] == "help") {
    const Verb* verb = words.size() > 1 ? find_verb(words[1]) : nullptr;
    return verb != nullptr ? run_verb(*verb, {"--help"}) : print(top_help());
  }
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  if (words[0] == "--version") return print(version_text(json));
  if (const Verb* verb = find_verb(words[0]))
    return run_verb(*verb, {words.begin() + 1, words.end()});
  if (words[0] == "--json" && words.size() > 1 && words[1] == "--version")
    return print(version_text(true));
  return fail(unknown_verb(words[0]), json);
}

}  // namespace
}  // namespace headrace::cli

int main(int argc, char** argv) {
  using namespace headrace;
  cli::install_signals();
  try {
    return cli::run({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    cli::print_error({.message = "out of memory", .hint = "Ask for fewer --threads."}, false);
  } catch (const std::exception& problem) {
    cli::print_error({.message = std::string("this is a bug in headrace: ") + problem.what()},
                     false);
  }
  return 1;
}
