#include "headrace/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/try.h"
#include "engine/epoch_run.h"
#include "engine/length_finder.h"
#include "engine/one_row.h"
#include "engine/setup.h"
#include "engine/stats.h"
#include "headrace/audit.h"
#include "headrace/notes.h"
#include "plan/epoch_plan.h"
#include "plan/run_state.h"

namespace headrace {
namespace {

/// Slots that stay in the pool beyond those in flight: the one the consumer works on, one to spare.
constexpr unsigned kSpareSlots = 2;

Error forked_error() {
  return {.code = Code::kUsage,
          .message = "this loader was started before fork(); its threads are not in this process",
          .hint = "Start it after the fork (an unstarted loader may be forked), or use spawn."};
}

std::vector<std::string> fingerprints(const LoaderOptions& options) {
  std::vector<std::string> all;
  for (const auto& set : options.sets) all.push_back(set->fingerprint());
  return all;
}

Result<EpochSteps> epoch_steps(const Schedule& schedule, const RunState& state) {
  const OrderOptions& order = state.options.order;
  return EpochSteps::create(schedule.epoch_rows(), order.lanes, order.tail, state.batches);
}

}  // namespace

class Loader::Impl {
 public:
  explicit Impl(Setup made)
      : setup(std::move(made)),
        state(begin_run(*setup.schedule, fingerprints(setup.options))),
        begin(state),
        pool({.keep = setup.options.prefetch + kSpareSlots,
              .shared = setup.options.shared_memory}) {}
  ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status start_run();
  void start_ahead();
  void prepare_next_epoch();
  void end_run();
  void put(std::optional<EpochRun>& place, std::optional<EpochRun> run);
  void stop();
  bool forked() const {
    return (current && current->run->forked()) || (ahead && ahead->run->forked());
  }
  Result<std::shared_ptr<const Batch>> deliver(RunBatch made);
  Result<OneRow> make_row(uint64_t epoch, uint64_t position) const;
  void go_to(RunState where);
  Status load(const std::string& json, uint64_t total);

  Setup setup;
  RunState state;            ///< after the last batch handed out
  RunState begin;            ///< where this epoch began, or the loaded state went on
  uint64_t skipped = 0;      ///< of this worker's steps since `begin`
  bool just_loaded = false;  ///< rewinding goes to the loaded state
  uint64_t row_errors = 0;   ///< of this epoch
  std::optional<Timer::Clock::time_point> started;
  bool ended_once = false;  ///< an epoch was read to its end

  SlotPool pool;
  Timers timers;
  std::unique_ptr<AuditWriter> audit;
  // The consumer's thread alone changes the runs; stop() looks at them from others.
  std::mutex runs_mutex;
  std::atomic<bool> stopped{false};
  std::optional<EpochRun> current;
  std::optional<EpochRun> ahead;  ///< of the next epoch, most likely
};

/// The run that was in this place ends after the lock, with the argument: that takes as long as its
/// last read.
void Loader::Impl::put(std::optional<EpochRun>& place, std::optional<EpochRun> run) {
  std::scoped_lock lock(runs_mutex);
  place.swap(run);
  if (place && stopped) place->run->stop();
}

void Loader::Impl::stop() {
  std::scoped_lock lock(runs_mutex);
  stopped = true;
  if (forked()) return;
  if (current) current->run->stop();
  if (ahead) ahead->run->stop();
}

/// From `begin` on: the run that was made ahead, if it is this one.
Status Loader::Impl::start_run() {
  const LoaderOptions& o = setup.options;
  if (!started) started = Timer::Clock::now();
  if (ahead && ahead->starts_at(begin, skipped)) {
    std::scoped_lock lock(runs_mutex);
    current.swap(ahead);
  } else {
    put(ahead, std::nullopt);
    HR_TRY(auto run, EpochRun::start(setup, begin, skipped, pool, timers, false));
    put(current, std::move(run));
  }
  if (o.audit_folder.empty()) return {};
  const EpochSteps& steps = current->steps;
  const uint64_t offset = steps.offset_before(std::min(current->first, steps.full_steps()));
  HR_TRY(audit, AuditWriter::open(o.audit_folder, {.rank = o.rank,
                                                   .world = o.world,
                                                   .worker = o.worker,
                                                   .workers = o.workers,
                                                   .epoch = begin.epoch,
                                                   .offset = offset}));
  return {};
}

/// An error would come again, in its place.
void Loader::Impl::start_ahead() {
  const RunState next = begin.at_epoch(begin.epoch + 1);
  if (auto run = EpochRun::start(setup, next, 0, pool, timers, true); run.ok())
    put(ahead, std::move(*run));
}

/// Its first batch is made while the last ones of this are consumed. Its remote bytes come right
/// after those of this epoch, so that the network does not rest; but not those of a second epoch,
/// which may never be.
void Loader::Impl::prepare_next_epoch() {
  const Run& run = *current->run;
  if (run.is_remote() && !ended_once) return;
  const bool has_room = run.has_room_for_next();
  if (!ahead && (has_room || (run.is_remote() && run.has_planned_all()))) start_ahead();
  if (ahead && has_room) ahead->run->make_first();
}

void Loader::Impl::end_run() {
  put(current, std::nullopt);
  audit.reset();
}

Result<std::shared_ptr<const Batch>> Loader::Impl::deliver(RunBatch made) {
  Batch& batch = *made.batch;
  const uint64_t offset = state.offset;
  state = begin.before_step(current->steps, batch.step + 1);
  batch.state = encode_state(state);
  if (audit) HR_CHECK(audit->append(batch, offset, made.digests));

  ++timers.batches;
  timers.rows += batch.rows.size();
  timers.rows_skipped += batch.errors.size();
  row_errors += batch.errors.size();
  if (row_errors > setup.options.max_errors) {
    Error error = batch.errors.back().error;
    error.message = "more than " + std::to_string(setup.options.max_errors) +
                    " samples of this epoch are bad (max_errors); the last one: " + error.message;
    return error;
  }
  return std::shared_ptr<const Batch>(std::move(made.batch));
}

Result<OneRow> Loader::Impl::make_row(uint64_t epoch, uint64_t position) const {
  const RunState at = epoch == begin.epoch ? begin : begin.at_epoch(epoch);
  HR_TRY(EpochPlan plan, EpochPlan::create(setup.schedule, epoch, at.batches));
  HR_TRY(const auto mixer, make_mixer(setup, begin.options.order, plan.steps()));
  LengthFinder lengths(setup.options);
  plan.set_lengths(
      [&](std::span<const Row> rows, std::span<uint64_t> found) { lengths.read(rows, found); });
  auto row = headrace::make_row(setup, plan, mixer ? &*mixer : nullptr, position);
  HR_CHECK(lengths.status());
  return row;
}

void Loader::Impl::go_to(RunState where) {
  end_run();
  state = std::move(where);
  begin = state;
  skipped = 0;
  row_errors = 0;
}

Status Loader::Impl::load(const std::string& json, uint64_t total) {
  HR_TRY(RunState loaded, decode_state(json));
  RunState asked = begin_run(*setup.schedule, fingerprints(setup.options));
  if (setup.options.lanes == 0) asked.options.order.lanes = 0;  // the state's hold
  asked.options.epoch_samples = 0;  // steps of the first run's global batch: the state's hold
  HR_CHECK(check_compatible(loaded, asked));
  if (total != 0) {
    HR_TRY(loaded, with_total(std::move(loaded), total));
  }
  if (!asked.options.weights.empty()) {
    HR_TRY(auto counts, mixture_counts(setup.options.weights));
    HR_TRY(loaded, with_weights(std::move(loaded), std::move(counts)));
  }
  HR_TRY(auto schedule, make_schedule(setup.options, loaded.options, setup.schedule->lengths()));
  HR_TRY(const EpochSteps its_steps, epoch_steps(*schedule, loaded));
  HR_TRY([[maybe_unused]] const uint64_t step, next_step(its_steps, loaded));
  end_run();
  put(ahead, std::nullopt);
  setup.schedule = std::move(schedule);
  go_to(std::move(loaded));
  just_loaded = true;
  return {};
}

Result<std::unique_ptr<Loader>> Loader::create(LoaderOptions options) {
  HR_TRY(Setup setup, make_setup(std::move(options)));
  return std::unique_ptr<Loader>(new Loader(std::make_unique<Impl>(std::move(setup))));
}

Loader::Loader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Loader::~Loader() = default;

uint64_t Loader::steps() const {
  const auto steps = epoch_steps(*impl_->setup.schedule, impl_->begin);
  return steps.ok() ? own_steps(impl_->setup.options, steps->steps()) : 0;
}

std::string Loader::tail_sentence() const {
  const Schedule& schedule = *impl_->setup.schedule;
  return headrace::tail_sentence(schedule, schedule.options().order.global_batch);
}

std::string Loader::explain() const { return headrace::explain(impl_->setup); }

Result<std::string> Loader::explain(uint64_t epoch, uint64_t position) const {
  HR_TRY(const OneRow row, impl_->make_row(epoch, position));
  return row.explanation;
}

Result<std::shared_ptr<const Batch>> Loader::row_at(uint64_t epoch, uint64_t position) const {
  HR_TRY(const OneRow row, impl_->make_row(epoch, position));
  return std::shared_ptr<const Batch>(row.batch);
}

Result<std::shared_ptr<const Batch>> Loader::next(const std::function<bool()>& interrupted) {
  if (impl_->stopped) return Error{.code = Code::kInterrupted, .message = "the loader was stopped"};
  if (impl_->forked()) return forked_error();
  if (!impl_->current) HR_CHECK(impl_->start_run());
  impl_->just_loaded = false;
  HR_TRY(RunBatch made, impl_->current->run->next(interrupted));
  if (made.batch) {
    impl_->prepare_next_epoch();
    return impl_->deliver(std::move(made));
  }
  impl_->ended_once = true;
  impl_->go_to(impl_->state.at_epoch(impl_->begin.epoch + 1));
  return std::shared_ptr<const Batch>();
}

Status Loader::rewind() {
  if (impl_->forked()) return forked_error();
  if (std::exchange(impl_->just_loaded, false)) return {};
  const bool untouched = !impl_->current && impl_->skipped == 0 && impl_->state.offset == 0;
  if (untouched) return {};
  impl_->go_to(impl_->state.at_epoch(impl_->begin.epoch));
  return {};
}

Status Loader::skip(uint64_t steps) {
  if (impl_->current)
    return Error{.code = Code::kUsage,
                 .message = "steps can be skipped before the first batch only"};
  impl_->skipped += steps;
  return {};
}

Status Loader::set_epoch(uint64_t epoch) {
  if (impl_->forked()) return forked_error();
  if (epoch == impl_->state.epoch) return {};
  impl_->go_to(impl_->state.at_epoch(epoch));
  impl_->just_loaded = false;
  return {};
}

uint64_t Loader::epoch() const { return impl_->state.epoch; }

std::string Loader::state() const { return encode_state(impl_->state); }

Result<std::string> Loader::state_at(uint64_t epoch, uint64_t step) const {
  const RunState start = impl_->begin.at_epoch(epoch);
  HR_TRY(const EpochSteps steps, epoch_steps(*impl_->setup.schedule, start));
  if (step > steps.steps())
    return Error{.code = Code::kUsage,
                 .message = "an epoch has " + std::to_string(steps.steps()) +
                            " steps; there is no state before step " + std::to_string(step)};
  return encode_state(start.before_step(steps, step));
}

Status Loader::load_state(const std::string& json, uint64_t total) {
  if (impl_->forked()) return forked_error();
  return impl_->load(json, total);
}

std::string Loader::agreement() const {
  const RunState start = begin_run(*impl_->setup.schedule, fingerprints(impl_->setup.options));
  return hex64(xxh3(as_bytes(encode_state(start))));
}

void Loader::page_lock(int device) {
  auto lock = PageLock::open(device);
  if (lock.ok())
    impl_->pool.lock_slots(std::move(*lock));
  else
    note_once("Batches are not page-locked: " + lock.error().to_string());
}

LoaderStats Loader::stats() const {
  const LoaderOptions& o = impl_->setup.options;
  RunFacts facts{.threads = o.threads, .depth = o.prefetch, .memory_bytes = o.memory_bytes};
  facts.is_remote = fetch_options(impl_->setup).has_value();
  if (impl_->started)
    facts.seconds = std::chrono::duration<double>(Timer::Clock::now() - *impl_->started).count();
  const SlotPool::Usage usage = impl_->pool.usage();
  facts.largest_slot = usage.slots > 0 ? usage.bytes / usage.slots : 0;
  return summarise(impl_->timers, usage, facts);
}

void Loader::stop() { impl_->stop(); }

}  // namespace headrace
