#include "plan/run_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/try.h"

namespace headrace {
namespace {

Error usage(std::string message, std::string hint) {
  return {
      .code = Code::kUsage, .message = std::move(message), .origin = {}, .hint = std::move(hint)};
}

std::string text(bool value) { return value ? "true" : "false"; }
std::string text(uint64_t value) { return std::to_string(value); }
std::string text(const std::string& value) { return value; }

template <typename T>
Status same(const char* field, const T& state, const T& asked) {
  if (state == asked) return {};
  return usage("the state is of another run: " + std::string(field) + " is " + text(state) +
                   " in the state and " + text(asked) + " here",
               "Load it with the data set and the options that it was saved with.");
}

/// Offsets that every lane of the run has read in all epochs before this one and in this one.
uint64_t run_offset(const RunState& state) {
  return state.epoch * (state.options.epoch_samples / state.options.order.lanes) + state.offset;
}

}  // namespace

RunState RunState::before_step(const EpochSteps& steps, uint64_t step) const {
  RunState state = *this;
  state.offset = steps.offset_before(std::min(step, steps.full_steps()));
  state.over = step > 0 && step >= steps.steps();
  // Changes that came later in the run are not part of the state that it had here.
  std::erase_if(state.batches, [&](const BatchSegment& b) { return b.from > state.offset; });
  state.options.order.global_batch = state.batches.back().total;
  return state;
}

RunState RunState::at_epoch(uint64_t new_epoch) const {
  RunState state = *this;
  state.epoch = new_epoch;
  state.offset = 0;
  state.over = false;
  state.batches = {{0, batches.back().total}};
  return state;
}

RunState begin_run(const Schedule& schedule, std::vector<std::string> fingerprints) {
  RunState state;
  state.fingerprints = std::move(fingerprints);
  state.options = schedule.options();
  state.batches = {{0, state.options.order.global_batch}};
  return state;
}

Status check_compatible(const RunState& state, const RunState& asked) {
  const OrderOptions& a = state.options.order;
  const OrderOptions& b = asked.options.order;
  HR_CHECK(same<uint64_t>("data sets", state.fingerprints.size(), asked.fingerprints.size()));
  for (size_t set = 0; set < state.fingerprints.size(); ++set)
    HR_CHECK(same("fingerprint", state.fingerprints[set], asked.fingerprints[set]));
  HR_CHECK(same("shuffle", a.shuffle, b.shuffle));
  HR_CHECK(same("seed", a.seed, b.seed));
  if (b.lanes != 0) HR_CHECK(same("lanes", a.lanes, b.lanes));
  HR_CHECK(same("window", a.window_bytes, b.window_bytes));
  HR_CHECK(same<std::string>("tail", tail_name(a.tail), tail_name(b.tail)));
  HR_CHECK(same("bucket by", a.bucket_by, b.bucket_by));
  HR_CHECK(same("bucket steps", a.bucket_steps, b.bucket_steps));
  HR_CHECK(same("pack by", a.pack_by, b.pack_by));
  HR_CHECK(same("pack length", a.pack_length, b.pack_length));
  HR_CHECK(same("mixture", !state.options.weights.empty(), !asked.options.weights.empty()));
  if (asked.options.epoch_samples != 0)
    HR_CHECK(same("samples of a mixture's epoch", state.options.epoch_samples,
                  asked.options.epoch_samples));
  return {};
}

Result<RunState> with_total(RunState state, uint64_t total) {
  const uint64_t lanes = state.options.order.lanes;
  if (total == 0 || total % lanes != 0)
    return usage("the state's " + std::to_string(lanes) +
                     " lanes do not divide a global batch of " + std::to_string(total) + " rows",
                 "Give a multiple of " + std::to_string(lanes) + ".");
  const BatchSegment& batch = state.batches.back();
  const uint64_t bucket = state.options.order.bucket_steps * (batch.total / lanes);
  if (total != batch.total && bucket > 0 && (state.offset - batch.from) % bucket != 0)
    return usage("another global batch in the middle of a bucket by length, of which " +
                     std::to_string(state.options.order.bucket_steps) + " steps are dealt together",
                 "Change it after a multiple of so many steps, or at the start of an epoch.");
  const bool has_begun = state.offset > 0 || state.over;
  if (total != batch.total && state.options.order.pack_length > 0 && has_begun)
    return usage("another global batch in the midst of an epoch of packed rows",
                 "Change it at the start of an epoch.");
  state.options.order.global_batch = total;
  if (state.batches.back().total == total) return state;
  if (state.batches.back().from == state.offset) state.batches.pop_back();
  state.batches.push_back({state.offset, total});
  return state;
}

Result<RunState> with_weights(RunState state, std::vector<uint32_t> counts) {
  std::vector<WeightSegment>& weights = state.options.weights;
  if (weights.empty()) return usage("weights for a single data set", "Only mixtures have them.");
  // After the epoch's last batch the next offset read is the first of the next epoch.
  const uint64_t from =
      state.over ? run_offset(state.at_epoch(state.epoch + 1)) : run_offset(state);
  std::erase_if(weights, [&](const WeightSegment& segment) { return segment.from > from; });
  if (weights.back().counts == counts) return state;
  if (weights.back().from == from) weights.pop_back();
  weights.push_back({from, std::move(counts)});
  return state;
}

}  // namespace headrace
