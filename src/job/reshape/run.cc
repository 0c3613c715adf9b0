#include "job/reshape/run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/parallel.h"
#include "base/try.h"
#include "base/units.h"
#include "io/environment.h"
#include "io/urls.h"
#include "job/fault_point.h"
#include "job/map/map_shards.h"
#include "job/publish.h"
#include "job/read_back.h"
#include "job/reshape/buckets.h"
#include "job/reshape/gather.h"
#include "job/reshape/parts.h"

namespace headrace {
namespace {

Durability durability(const RunOptions& options) {
  return options.fsync ? Durability::kDurable : Durability::kFast;
}

// The shards of the input that these tasks read.
std::vector<uint32_t> shards_read(const ReshapePlan& plan, const std::vector<uint64_t>& tasks) {
  std::vector<bool> used(plan.inputs().shards(), tasks.size() == plan.tasks());
  if (tasks.size() < plan.tasks())
    for (const uint64_t task : tasks) {
      const OutputShard shard = plan.shard(task);
      for (uint64_t at = shard.first; at < shard.first + shard.samples; ++at)
        for (uint32_t column = 0; column < plan.order().columns(); ++column)
          if (const uint64_t sample = plan.order().at(at, column); sample != kNoSample)
            used[plan.inputs().locate(sample).shard] = true;
    }
  std::vector<uint32_t> shards;
  for (uint32_t shard = 0; shard < used.size(); ++shard)
    if (used[shard]) shards.push_back(shard);
  return shards;
}

// Whether a task alone goes by way of parts, which all tasks share.
bool goes_by_parts(const ReshapePlan& plan, const RunOptions& options) {
  const Choice choice =
      choose_algorithm(plan, plan.tasks(), options.memory_bytes, options.algorithm);
  return choice.algorithm == Algorithm::kBuckets && plan.tasks() > 1;
}

class Run {
 public:
  Run(const ReshapePlan& plan, const RunOptions& options, Store& store, Publication& publication,
      Progress& progress)
      : plan_(plan),
        options_(options),
        store_(store),
        publication_(publication),
        progress_(progress),
        threads_(thread_count(options.threads)) {}

  // The first thing at the destination is the marker. `tasks`: how many will be written as one.
  Status begin(uint64_t tasks) {
    const Choice choice = choose_algorithm(plan_, tasks, options_.memory_bytes, options_.algorithm);
    HR_CHECK(check_memory(choice));
    algorithm_ = choice.algorithm;
    HR_CHECK(publication_.begin());
    fault_point("begun");
    return {};
  }

  // Writes the shards of these tasks. Inputs that changed meanwhile take the records back.
  Status write(const std::vector<uint64_t>& tasks) {
    HR_CHECK(write_by_algorithm(tasks));
    Status same = plan_.inputs().check_pins(shards_read(plan_, tasks), threads_);
    if (same.ok()) return {};
    for (const uint64_t task : tasks) HR_CHECK(publication_.forget(task));
    return same;
  }

  Status write_by_parts(uint64_t task) {
    return write_from_parts(plan_, room(), store_, publication_, task, progress_);
  }

  Status add_records(RunReport& report) {
    for (uint64_t task = 0; task < plan_.tasks(); ++task) HR_CHECK(add_record(task, report));
    return {};
  }

  /// What was done to those of write().
  const PictureReport& pictures() const { return pictures_; }

  Status add_record(uint64_t task, RunReport& report) {
    HR_TRY(const ShardRecord record, publication_.record(task));
    report.samples += record.samples;
    report.bytes += record.bytes;
    report.skipped_samples += record.skipped_samples;
    report.corrupt_samples += record.corrupt_samples;
    report.skipped.insert(report.skipped.end(), record.skipped.begin(), record.skipped.end());
    return {};
  }

  Status commit(RunReport& report) {
    HR_CHECK(add_records(report));
    Manifest facts;
    facts.container = plan_.container();
    facts.tool = options_.tool;
    facts.classes = classes();
    const Assignment& job = plan_.assignment();
    facts.recipe = make_recipe(job.verb, job.options_json, plan_.digest());
    HR_TRY(const Manifest manifest,
           publication_.finish(std::move(facts), plan_.tasks(), options_.memory_bytes, progress_));
    report.fingerprint = manifest.fingerprint();
    return {};
  }

 private:
  Status check_memory(const Choice& choice) const {
    if (choice.fits) return {};
    return Error{.code = Code::kUsage,
                 .message = choice.why +
                            ": the indexes of all shards must fit into memory, about " +
                            format_bytes(choice.gather.memory) + " of " +
                            format_bytes(options_.memory_bytes),
                 .hint = "Give so much --memory."};
  }

  Status write_by_algorithm(const std::vector<uint64_t>& tasks) {
    if (plan_.assignment().map) return map(tasks);
    if (algorithm_ == Algorithm::kBuckets)
      return bucket_shards(plan_, room(), store_, publication_, tasks, progress_);
    return gather_shards(plan_, {.threads = threads_, .memory_bytes = options_.memory_bytes},
                         store_, publication_, tasks, progress_);
  }

  Status map(const std::vector<uint64_t>& tasks) {
    const MapOptions options{
        .threads = threads_,
        .memory_bytes = options_.memory_bytes,
        .scratch = options_.scratch.empty() ? temporary_folder() : options_.scratch,
        .python = options_.python};
    HR_TRY(pictures_, map_shards(plan_, options, store_, publication_, tasks, progress_));
    return {};
  }

  WorkRoom room() const {
    return {
        .threads = threads_, .memory_bytes = options_.memory_bytes, .scratch = scratch_folder()};
  }

  std::string scratch_folder() const {
    if (!options_.scratch.empty()) return options_.scratch;
    return url_scheme(plan_.out()).empty() ? plan_.out() : temporary_folder();
  }

  static std::string temporary_folder() {
    const std::string folder = environment("TMPDIR");
    return folder.empty() ? "/tmp" : folder;
  }

  // Where all sets agree.
  std::vector<std::string> classes() const {
    const auto& sets = plan_.inputs().sets();
    const auto& first = sets.front()->manifest().classes;
    const bool agree = std::ranges::all_of(
        sets, [&](const auto& set) { return set->manifest().classes == first; });
    return agree ? first : std::vector<std::string>();
  }

  const ReshapePlan& plan_;
  const RunOptions& options_;
  Store& store_;
  Publication& publication_;
  Progress& progress_;
  const unsigned threads_;
  Algorithm algorithm_ = Algorithm::kAuto;  // of begin()
  PictureReport pictures_;
};

// Marker, records and the plan that lies with them.
Status clean(Store& store, Publication& publication, const std::string& plan) {
  const std::string folder = kPlanFolder + plan.substr(0, 16) + "/";
  HR_CHECK(store.remove(folder + kPlanName));
  HR_CHECK(store.remove(folder + kOrderName));
  return publication.clean();
}

// For those who ask at the destination how far it is, and for `resume`.
Status save_at_destination(const ReshapePlan& plan, Store& store) {
  const std::string folder = kPlanFolder + plan.digest().substr(0, 16) + "/";
  return plan.save(store, folder);
}

// Beginning to write in a folder removes what killed writers left there.
Status sweep(Store& store, const Publication& publication, const ReshapePlan& plan) {
  for (uint64_t task = 0; task < plan.tasks(); task += std::max<uint64_t>(1, plan.tasks() - 1))
    HR_CHECK(store.create(publication.shard_folder() + plan.shard(task).name));
  return store.remove(kPendingName);
}

void expect(const ReshapePlan& plan, const std::vector<uint64_t>& tasks, Progress& progress) {
  const uint64_t all = std::max<uint64_t>(1, plan.inputs().samples());
  uint64_t samples = 0;
  for (const uint64_t task : tasks) samples += plan.shard(task).samples;
  progress.total_items = progress.items + samples;
  progress.total_bytes =
      progress.bytes +
      static_cast<uint64_t>(static_cast<unsigned __int128>(plan.inputs().bytes()) * samples / all);
}

Result<RunReport> run_once(const ReshapePlan& plan, const RunOptions& options, Progress& progress) {
  HR_TRY(const auto store, open_store(plan.out(), durability(options)));
  HR_TRY(Publication publication,
         Publication::look(*store, {.plan = plan.digest(), .replace = options.replace}));
  RunReport report{.plan = plan.digest(), .out = plan.out(), .tasks = plan.tasks()};
  report.notes = plan.assignment().notes;
  if (publication.state() == Publication::State::kComplete) {
    report.complete_before = true;
    HR_CHECK(clean(*store, publication, plan.digest()));
    return report;
  }
  HR_TRY(const std::vector<bool> done, publication.find_all_done(plan.tasks()));
  std::vector<uint64_t> tasks;
  for (uint64_t task = 0; task < done.size(); ++task)
    if (!done[task]) tasks.push_back(task);
  report.tasks_before = plan.tasks() - tasks.size();
  expect(plan, tasks, progress);

  Run run(plan, options, *store, publication, progress);
  HR_CHECK(run.begin(tasks.size()));
  HR_CHECK(save_at_destination(plan, *store));
  HR_CHECK(run.write(tasks));
  report.pictures = run.pictures();
  if (options.verify)
    HR_CHECK(read_all_back(*store, publication, plan.tasks(), options.threads, progress));
  HR_CHECK(run.commit(report));
  HR_CHECK(clean(*store, publication, plan.digest()));
  if (publication.replaces())
    report.notes.push_back("the files of the version before stay in the folder");
  return report;
}

Result<RunReport> run_task_once(const ReshapePlan& plan, uint64_t task, const RunOptions& options,
                                Progress& progress) {
  HR_TRY(const auto store, open_store(plan.out(), durability(options)));
  HR_TRY(Publication publication,
         Publication::look(*store, {.plan = plan.digest(), .replace = options.replace}));
  RunReport report{.plan = plan.digest(), .out = plan.out(), .tasks = plan.tasks()};
  report.complete_before = publication.state() == Publication::State::kComplete;
  if (report.complete_before) return report;
  HR_TRY(const bool done, publication.find_done(task));
  Run run(plan, options, *store, publication, progress);
  if (done) {
    report.tasks_before = 1;
  } else {
    expect(plan, {task}, progress);
    const bool by_parts = goes_by_parts(plan, options);
    HR_CHECK(run.begin(by_parts ? plan.tasks() : 1));
    HR_CHECK(by_parts ? run.write_by_parts(task) : run.write({task}));
    HR_CHECK(store->sync());
    if (options.verify) HR_CHECK(read_back(*store, publication, {task}, options.threads, progress));
  }
  report.pictures = run.pictures();
  HR_CHECK(run.add_record(task, report));
  return report;
}

// Another run of the same plan that ends now takes marker and records away under our eyes.
template <typename Once>
Result<RunReport> against_others(const Once& once) {
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    auto report = once();
    const bool theirs = !report.ok() && report.error().code == Code::kNotFound;
    if (!theirs || attempt == kAttempts) return report;
  }
}

/// The numbers below `tasks` that `finished` lacks.
std::vector<std::pair<uint64_t, uint64_t>> gaps(const std::set<uint64_t>& finished,
                                                uint64_t tasks) {
  std::vector<std::pair<uint64_t, uint64_t>> left;
  uint64_t next = 0;
  for (const uint64_t task : finished) {
    if (task > next) left.emplace_back(next, task - 1);
    next = task + 1;
  }
  if (next < tasks) left.emplace_back(next, tasks - 1);
  return left;
}

}  // namespace

Result<RunReport> run_plan(const ReshapePlan& plan, const RunOptions& options, Progress& progress) {
  return against_others([&] { return run_once(plan, options, progress); });
}

Result<RunReport> run_task(const ReshapePlan& plan, uint64_t task, const RunOptions& options,
                           Progress& progress) {
  if (task >= plan.tasks())
    return Error{.code = Code::kUsage,
                 .message = "there is no task " + std::to_string(task) + ": the plan has " +
                            std::to_string(plan.tasks()),
                 .hint = "Tasks count from 0."};
  return against_others([&] { return run_task_once(plan, task, options, progress); });
}

Result<ReshapePlan> load_for_task(const Store& place, uint64_t task, const RunOptions& options) {
  const unsigned threads = thread_count(options.threads);
  HR_TRY(ReshapePlan plan, ReshapePlan::load(place, threads, task));
  if (plan.order().kind() != SampleOrder::Kind::kListed || !goes_by_parts(plan, options))
    return plan;
  return ReshapePlan::load(place, threads);
}

std::string default_plan_place(const ReshapePlan& plan) {
  return plan.out() + "/" + kPlanFolder + plan.digest().substr(0, 16);
}

Result<std::string> find_plan(const std::string& location) {
  std::string place = location;
  if (place.ends_with(std::string("/") + kPlanName))
    place.resize(place.size() - std::string_view(kPlanName).size() - 1);
  HR_TRY(const auto store, open_store(place));
  HR_TRY(const bool there, store->exists(kPlanName));
  if (there) return place;
  // A destination: the plan of its marker, or the only one there is.
  std::string folder;
  const auto marker = store->read(kPendingName);
  const auto json = nlohmann::json::parse(marker.ok() ? *marker : "", nullptr, false);
  if (json.is_object() && json.contains("plan") && json["plan"].is_string()) {
    folder = kPlanFolder + json["plan"].get_ref<const std::string&>().substr(0, 16);
  } else {
    HR_TRY(auto plans, store->list(kPlanFolder));
    std::erase_if(plans, [](const StoreEntry& entry) {
      return !entry.path.ends_with(std::string("/") + kPlanName);
    });
    if (plans.size() == 1) folder = plans[0].path.substr(0, plans[0].path.rfind('/'));
  }
  HR_TRY(const bool here, store->exists(folder.empty() ? kPlanName : folder + "/" + kPlanName));
  if (here) return place + "/" + folder;
  return Error{.code = Code::kNotFound,
               .message = "there is no plan",
               .origin = {.shard = location},
               .hint =
                   "Name the place that 'headrace plan' printed, or the destination of a job "
                   "under way. The plan that lies at a destination goes when the job ends; a job "
                   "that was killed at its very start has none yet: give its command again."};
}

Result<PlanStatus> plan_status(const std::string& location) {
  HR_TRY(const std::string found, find_plan(location));
  HR_TRY(const auto place, open_store(found));
  HR_TRY(const ReshapePlan plan, ReshapePlan::load_head(*place));
  HR_TRY(const auto store, open_store(plan.out()));
  HR_TRY(const auto publication,
         Publication::look(*store, {.plan = plan.digest(), .replace = true}));
  PlanStatus status{.plan = plan.digest(),
                    .verb = plan.assignment().verb,
                    .out = plan.out(),
                    .tasks = plan.tasks()};
  status.complete = publication.state() == Publication::State::kComplete;
  status.begun = publication.state() != Publication::State::kFresh;
  status.finished = status.complete ? plan.tasks() : publication.finished().size();
  if (!status.complete) status.left = gaps(publication.finished(), plan.tasks());
  return status;
}

Status abandon_plan(const std::string& location) {
  HR_TRY(const std::string found, find_plan(location));
  HR_TRY(const auto place, open_store(found));
  HR_TRY(const ReshapePlan plan, ReshapePlan::load_head(*place));
  HR_TRY(const auto store, open_store(plan.out()));
  HR_TRY(Publication publication,
         Publication::look(*store, {.plan = plan.digest(), .replace = true}));
  if (publication.state() == Publication::State::kComplete)
    return Error{.code = Code::kUsage,
                 .message = "the job is complete: '" + plan.out() + "' is a data set"};
  if (publication.state() == Publication::State::kResumed) {
    for (uint64_t task = 0; task < plan.tasks(); ++task)
      HR_CHECK(store->remove(publication.shard_folder() + plan.shard(task).name));
    HR_CHECK(publication.clean());
    HR_CHECK(sweep(*store, publication, plan));
  }
  HR_CHECK(place->remove(kOrderName));
  HR_CHECK(place->remove(kPlanName));
  return store->sync();
}

}  // namespace headrace
