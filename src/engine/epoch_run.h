// The run of one epoch, from a state on.
//
// Ownership: it owns its run, and ends it. What `start` is given outlives it. Belongs to one
// thread.
#pragma once

#include <memory>
#include <string>

#include "engine/run.h"
#include "engine/setup.h"
#include "plan/run_state.h"

namespace headrace {

/// In a forked child a run cannot be ended: its threads, and what they locked, are the parent's.
struct EndRun {
  void operator()(Run* run) const {
    if (!run->forked()) std::default_delete<Run>()(run);
  }
};

struct EpochRun {
  /// Starts the threads. `skipped`: of this worker's steps, from `begin` on. `ahead`: nobody
  /// waits for it yet.
  static Result<EpochRun> start(const Setup& setup, const RunState& begin, uint64_t skipped,
                                SlotPool& pool, Timers& timers, bool ahead);
  /// Whether it is what `start` would make.
  bool starts_at(const RunState& state, uint64_t steps_skipped) const;

  std::string begin;  ///< the state that it starts from
  uint64_t skipped = 0;
  EpochSteps steps;
  uint64_t first = 0;  ///< its first step
  std::unique_ptr<Run, EndRun> run;
};

/// Of so many steps, those of this worker.
uint64_t own_steps(const LoaderOptions& options, uint64_t all);

/// The step that a state stands before; steps.steps() at the end of the epoch.
Result<uint64_t> next_step(const EpochSteps& steps, const RunState& state);

}  // namespace headrace
