// headrace plan, run, run-task, resume, status, abandon: jobs as data.
#include <memory>

#include "base/parallel.h"
#include "base/try.h"
#include "base/units.h"
#include "cli/engine.h"
#include "cli/reshape.h"
#include "cli/sample_options.h"
#include "cli/verbs.h"

namespace headrace::cli {
namespace {

struct PlanFlags {
  std::string place;
  std::shared_ptr<ReshapeFlags> flags;
};

Result<int> make_plan(const PlanFlags& flags, Context& context) {
  HR_TRY(const auto jobs, reshape_options(*flags.flags, context));
  if (jobs.size() > 1 && !flags.place.empty())
    return Error{.code = Code::kUsage,
                 .message = "one --plan PLACE is given for several plans",
                 .hint = "Without it each lies at its own destination."};
  for (const ReshapeOptions& options : jobs) {
    HR_TRY(const ReshapePlan plan, plan_reshape(options));
    const std::string place = flags.place.empty() ? default_plan_place(plan) : flags.place;
    HR_TRY(const auto store, open_store(place));
    HR_CHECK(plan.save(*store));
    print_plan(plan, place, context);
    HR_CHECK(context.out.flush());
    context.note("planned " + format_number_of(plan.order().size(), "sample") + " in " +
                 format_number_of(plan.tasks(), "task") + "; 'headrace run " + printable(place) +
                 "' does it, or 'headrace run-task' one of them");
  }
  return 0;
}

Action setup_plan(CLI::App& app) {
  auto flags = std::make_shared<PlanFlags>();
  app.require_subcommand(1);
  for (const ReshapeVerb* verb : reshape_verbs()) {
    CLI::App* sub = app.add_subcommand(verb->name, verb->summary);
    sub->fallthrough();
    auto chosen = add_reshape(*sub, *verb, false);
    sub->add_option("--plan", flags->place, "Where the plan goes (at the destination)")
        ->type_name("PLACE");
    sub->callback([flags, chosen] { flags->flags = chosen; });
  }
  return [flags](Context& context) { return make_plan(*flags, context); };
}

struct TaskFlags {
  std::string location;
  uint64_t task = 0;
  ReshapeFlags run;
  EngineFlags engine;
};

Result<int> run_located(const TaskFlags& flags, std::optional<uint64_t> task, Context& context) {
  HR_TRY(const RunOptions options, run_options(flags.run, context));
  HR_TRY(const std::string place, find_plan(flags.location));
  HR_TRY(const auto store, open_store(place));
  HR_TRY(const ReshapePlan plan, task ? load_for_task(*store, *task, options)
                                      : ReshapePlan::load(*store, thread_count(context.threads)));
  return run_and_report(plan, options, context, task);
}

std::shared_ptr<TaskFlags> add_plan(CLI::App& app) {
  auto flags = std::make_shared<TaskFlags>();
  app.add_option("PLAN", flags->location, "The plan's place, or the destination of a job under way")
      ->required()
      ->type_name("");
  return flags;
}

Action setup_run(CLI::App& app) {
  const auto flags = add_plan(app);
  add_run_options(app, flags->run);
  add_engine(app, flags->engine);
  return [flags](Context& context) -> Result<int> {
    if (flags->engine.name == "threads") return run_located(*flags, std::nullopt, context);
    return become_driver(flags->engine, flags->location, flags->run, context);
  };
}

Action setup_run_task(CLI::App& app) {
  const auto flags = add_plan(app);
  app.add_option("K", flags->task, "Number of the task, from 0")
      ->required()
      ->type_name("")
      ->check(whole_number());
  add_run_options(app, flags->run);
  return [flags](Context& context) { return run_located(*flags, flags->task, context); };
}

Result<int> print_status(const TaskFlags& flags, Context& context) {
  HR_TRY(const PlanStatus status, plan_status(flags.location));
  const char* state = status.complete ? "complete" : status.begun ? "under way" : "not begun";
  std::string text;
  if (context.json) {
    Json json(text);
    json.object()
        .member("schema", "headrace.status/1")
        .member("plan", status.plan)
        .member("verb", status.verb)
        .member("out", status.out)
        .member("state", state)
        .member("tasks", status.tasks)
        .member("finished", status.finished);
    json.key("left").array();
    for (const auto& [first, last] : status.left) json.array().value(first).value(last).end();
    json.end().end();
  } else {
    text = std::string(state) + "\t" + std::to_string(status.finished) + " of " +
           format_number_of(status.tasks, "task") + "\t" + status.verb + " to " +
           printable(status.out);
  }
  context.out.text(text + "\n");
  return 0;
}

Action setup_status(CLI::App& app) {
  const auto flags = add_plan(app);
  return [flags](Context& context) { return print_status(*flags, context); };
}

Action setup_abandon(CLI::App& app) {
  const auto flags = add_plan(app);
  return [flags](Context& context) -> Result<int> {
    HR_CHECK(abandon_plan(flags->location));
    context.note("given up: what the job wrote is removed");
    return 0;
  };
}

}  // namespace

const Verb kPlan{.name = "plan",
                 .summary = "Write down what a verb would do, for any machine to run",
                 .examples =
                     "headrace plan shuffle s3://b/set --seed 7 --out s3://b/new\n"
                     "headrace plan merge shards/ --out merged/ --plan plans/merge\n"
                     "headrace plan shuffle --help\n",
                 .setup = setup_plan,
                 .stoppable = true,
                 .group = kPlanGroup};

const Verb kRun{.name = "run",
                .summary = "Do what is left of a plan, and commit",
                .examples =
                    "headrace run plans/merge\n"
                    "headrace run plans/merge --engine ray\n"
                    "headrace run plans/merge --engine slurm -- --sbatch=--partition=cpu\n",
                .setup = setup_run,
                .stoppable = true,
                .group = kPlanGroup};

const Verb kRunTask{.name = "run-task",
                    .summary = "Do one task of a plan; any number of machines may do others",
                    .examples =
                        "headrace run-task plans/merge 17\n"
                        "seq 0 99 | parallel headrace run-task plans/merge\n",
                    .setup = setup_run_task,
                    .stoppable = true,
                    .group = kPlanGroup};

const Verb kResume{.name = "resume",
                   .summary = "Go on with a job that was stopped, by its destination or plan",
                   .examples = "headrace resume merged/\n",
                   .setup = setup_run,
                   .stoppable = true,
                   .group = kPlanGroup};

const Verb kStatus{.name = "status",
                   .summary = "Say how far a job is, from its records, on any machine",
                   .examples = "headrace status merged/\nheadrace status plans/merge --json\n",
                   .setup = setup_status,
                   .group = kPlanGroup};

const Verb kAbandon{.name = "abandon",
                    .summary = "Give an unfinished job up and remove what it wrote",
                    .examples = "headrace abandon merged/\n",
                    .setup = setup_abandon,
                    .stoppable = true,
                    .group = kPlanGroup};

}  // namespace headrace::cli
