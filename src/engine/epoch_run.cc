#include "engine/epoch_run.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "engine/length_finder.h"
#include "engine/one_row.h"
#include "plan/epoch_plan.h"

namespace headrace {
namespace {

/// Makes the rows of a rank's steps, for the planning thread of one run.
class StepPlanner {
 public:
  StepPlanner(EpochPlan plan, const Schedule& schedule, uint64_t first, const LoaderOptions& o,
              bool finds_parts)
      : plan_(std::move(plan)),
        schedule_(schedule),
        first_(first),
        finds_parts_(finds_parts),
        options_(o),
        lengths_(o) {
    plan_.set_lengths([this](std::span<const Row> rows, std::span<uint64_t> lengths) {
      lengths_.read(rows, lengths);
    });
  }
  StepPlanner(const StepPlanner&) = delete;
  StepPlanner& operator=(const StepPlanner&) = delete;

  /// Step number `i` of this worker.
  Result<StepRows> operator()(uint64_t i) {
    const uint64_t t = first_ + i * options_.workers;
    const Step step = plan_.steps().step(t);
    planned_.clear();
    const RowRange range = rank_rows(step.rows, options_.rank, options_.world);
    StepRows out{.step = t,
                 .total = step.rows,
                 .place = {.first_row = range.begin, .first_position = step.first_position},
                 .rows = {},
                 .parts = {},
                 .packed = {}};
    if (schedule_.is_packed())
      out.packed = plan_packed(t, step, range);
    else
      plan_.rows(t, range, planned_);
    HR_CHECK(lengths_.status());
    out.rows.reserve(planned_.size());
    for (const Row& row : planned_) out.rows.push_back(origin_of(row));
    if (!finds_parts_) return out;
    for (const Row& row : planned_) out.parts.push_back(plan_.part_of(row));
    // The last steps' rows may be of other ranks' lanes, whose blocks nobody reads here.
    if (!plan_.is_even(t))
      for (BlockPart& part : out.parts) part.count = 0;
    return out;
  }

 private:
  PackedRows plan_packed(uint64_t t, const Step& step, RowRange range) {
    PackedRows packed{
        .length = schedule_.packing().length(),
        .rows = range.size(),
        .real_rows = std::min(range.end, std::max(step.samples, range.begin)) - range.begin,
        .pieces = {}};
    plan_.packed_rows(t, range, planned_, packed.pieces);
    return packed;
  }

  EpochPlan plan_;
  const Schedule& schedule_;
  const uint64_t first_;
  const bool finds_parts_;
  const LoaderOptions& options_;
  LengthFinder lengths_;
  std::vector<Row> planned_;
};

}  // namespace

uint64_t own_steps(const LoaderOptions& options, uint64_t all) {
  return all <= options.worker ? 0 : (all - options.worker - 1) / options.workers + 1;
}

Result<uint64_t> next_step(const EpochSteps& steps, const RunState& state) {
  if (state.over) return steps.steps();
  return steps.step_at(state.offset);
}

Result<EpochRun> EpochRun::start(const Setup& setup, const RunState& begin, uint64_t skipped,
                                 SlotPool& pool, Timers& timers, bool ahead) {
  const LoaderOptions& o = setup.options;
  HR_TRY(EpochPlan plan, EpochPlan::create(setup.schedule, begin.epoch, begin.batches));
  const EpochSteps steps = plan.steps();
  HR_TRY(const uint64_t from, next_step(steps, begin));
  const uint64_t own = own_steps(o, steps.steps() - from);
  const uint64_t first = from + o.worker + skipped * o.workers;
  HR_TRY(auto mixer, make_mixer(setup, begin.options.order, steps));
  auto fetch = fetch_options(setup);
  if (fetch) fetch->ahead = ahead;
  auto planner = std::make_shared<StepPlanner>(std::move(plan), *setup.schedule, first, o,
                                               fetch && fetch->whole_parts);
  RunOptions options{.seed = begin.options.order.seed,
                     .epoch = begin.epoch,
                     .steps = own - std::min(own, skipped),
                     .plan = [planner](uint64_t i) { return (*planner)(i); },
                     .threads = o.threads,
                     .depth = o.prefetch,
                     .memory_bytes = o.memory_bytes,
                     .on_error = o.on_error,
                     .digests = !o.audit_folder.empty(),
                     .mixer = std::move(mixer),
                     .fetch = fetch};
  return EpochRun{.begin = encode_state(begin),
                  .skipped = skipped,
                  .steps = steps,
                  .first = first,
                  .run = std::unique_ptr<Run, EndRun>(new Run(
                      std::move(options), o.sets, setup.columns, setup.fields, pool, timers))};
}

bool EpochRun::starts_at(const RunState& state, uint64_t steps_skipped) const {
  return skipped == steps_skipped && begin == encode_state(state);
}

}  // namespace headrace
