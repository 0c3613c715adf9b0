// The resume state of a run: a small JSON text, the same on every rank, whatever the world size.
//
//   {"headrace_state": 1, "order": 1, "data": ["<fingerprint>"], "shuffle": true, "seed": 7,
//    "lanes": 128, "window": 33554432, "tail": "pad", "epoch": 3, "offset": 160, "over": false,
//    "batches": [[0, 2048]]}
//
// `offset` is the offset that every lane has reached. `over`: the last batch of the epoch was
// delivered; going on from there yields nothing and moves to the next epoch. `batches`: the epoch's
// global batches, each from a lane offset on; the last one is the run's. A mixture adds
// "mixture": {"samples": of an epoch, "weights": [[run offset, [counts]], …]}. Buckets by length
// add "bucket": {"by": "txt", "steps": 32}, documents that are packed "pack": {"by": "npy:tokens",
// "length": 2048}; offsets then count packed rows.
//
// Everything here is pure. Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/result.h"
#include "plan/epoch_steps.h"
#include "plan/schedule.h"

namespace headrace {

struct RunState {
  std::vector<std::string> fingerprints;  ///< one a data set
  ScheduleOptions options;                ///< order.global_batch is that of batches.back()
  uint64_t epoch = 0;
  uint64_t offset = 0;
  bool over = false;
  std::vector<BatchSegment> batches;  ///< of this epoch

  /// The same run before step `step` of its current epoch; after the last step the epoch is over.
  /// `steps` are those of the current epoch. Precondition: step <= steps.steps().
  RunState before_step(const EpochSteps& steps, uint64_t step) const;
  /// The same run at the start of an epoch.
  RunState at_epoch(uint64_t epoch) const;
};

/// A run that has not begun, at epoch 0. Precondition: one fingerprint a set.
RunState begin_run(const Schedule& schedule, std::vector<std::string> fingerprints);

std::string encode_state(const RunState& state);
/// Code::kCorrupt for what is not a state, Code::kUsage for one of another order version.
Result<RunState> decode_state(std::string_view text);

/// Refuses a state that is not of this data and these options, naming the first field that differs
/// and both values. `asked.options.order.lanes` 0 and `asked.options.epoch_samples` 0 ask for
/// nothing; the global batch and the weights may differ: the state's hold until changed.
Status check_compatible(const RunState& state, const RunState& asked);

/// The same run going on with another global batch. Code::kUsage if the lanes do not divide it.
Result<RunState> with_total(RunState state, uint64_t total);
/// The same mixture going on with other weights (counts: see mixture_counts).
Result<RunState> with_weights(RunState state, std::vector<uint32_t> counts);

}  // namespace headrace
