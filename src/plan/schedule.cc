#include "plan/schedule.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/try.h"
#include "plan/order_keys.h"

namespace headrace {
namespace {

Error usage(std::string message, std::string hint) {
  return {
      .code = Code::kUsage, .message = std::move(message), .origin = {}, .hint = std::move(hint)};
}

/// `repeats` copies of the shards that hold samples.
ShardTable repeated(const ShardTable& table, uint64_t repeats, std::vector<uint32_t>& shards) {
  ShardTable filled;
  for (uint64_t copy = 0; copy < repeats; ++copy)
    for (uint32_t shard = 0; shard < table.size(); ++shard)
      if (table.samples[shard] > 0) {
        filled.samples.push_back(table.samples[shard]);
        filled.block_samples.push_back(table.block_samples[shard]);
        filled.bytes.push_back(table.bytes[shard]);
        shards.push_back(shard);
      }
  return filled;
}

}  // namespace

Result<Schedule::Set> Schedule::make_set(const std::shared_ptr<const ShardTable>& table,
                                         const OrderOptions& options, bool fill_lanes) {
  HR_TRY(std::shared_ptr<const Order> order, Order::create(table, options));
  const uint64_t samples = order->samples();
  if (!fill_lanes || samples == 0 || samples >= options.lanes) return Set{std::move(order), 1, {}};
  Set set{nullptr, divide_up(options.lanes, samples), {}};
  auto filled = std::make_shared<const ShardTable>(repeated(*table, set.repeats, set.shards));
  HR_TRY(set.order, Order::create(std::move(filled), options));
  return set;
}

Result<std::shared_ptr<const Schedule>> Schedule::create(
    const std::vector<std::shared_ptr<const ShardTable>>& sets, ScheduleOptions options) {
  std::shared_ptr<Schedule> schedule(new Schedule());
  const bool mixed = !options.weights.empty();
  if (!mixed && sets.size() != 1)
    return usage(std::to_string(sets.size()) + " data sets without weights",
                 "Give one weight a data set.");
  for (const auto& table : sets) {
    OrderOptions order = options.order;
    if (mixed) order.seed = mix(order.seed, schedule->sets_.size());  // equal sets, unlike orders
    HR_TRY(Set set, make_set(table, order, mixed));
    schedule->sets_.push_back(std::move(set));
  }
  if (mixed) {
    HR_TRY(Mixture mixture, Mixture::create(options.order.lanes, options.weights));
    schedule->mixture_ = std::move(mixture);
  }
  schedule->options_ = std::move(options);
  HR_CHECK(schedule->check_sets());
  if (mixed && schedule->options_.epoch_samples == 0)
    schedule->options_.epoch_samples = schedule->samples_until_longest_ends();
  if (schedule->epoch_samples() > kMostEpochSamples)
    return usage("an epoch of over 2^60 samples", "Give the mixture fewer steps an epoch.");
  return std::shared_ptr<const Schedule>(std::move(schedule));
}

Result<std::shared_ptr<const Schedule>> Schedule::packed(
    const Schedule& schedule, std::shared_ptr<const DocumentLengths> lengths) {
  const OrderOptions& order = schedule.options().order;
  if (schedule.is_mixture() || order.bucket_steps > 0)
    return usage("documents of a mixture or of buckets by length cannot be packed by their lengths",
                 "Pack them as they come: pack_tokens without by=.");
  HR_TRY(RowPacking packing,
         RowPacking::create(lengths->lane_tokens(), order.global_batch, order.pack_length));
  std::shared_ptr<Schedule> made(new Schedule(schedule));
  made->packing_ = std::move(packing);
  made->lengths_ = std::move(lengths);
  return std::shared_ptr<const Schedule>(std::move(made));
}

Status Schedule::check_sets() const {
  if (!is_mixture()) {
    if (options_.epoch_samples == 0) return {};
    return usage("a stated epoch for a single data set", "Only mixtures have one.");
  }
  for (const WeightSegment& segment : options_.weights) {
    if (segment.counts.size() != sets_.size())
      return usage(std::to_string(segment.counts.size()) + " weights for " +
                       std::to_string(sets_.size()) + " data sets",
                   "Give one weight a data set.");
    for (size_t set = 0; set < sets_.size(); ++set)
      if (segment.counts[set] > 0 && sets_[set].order->samples() == 0)
        return usage("data set " + std::to_string(set) + " of the mixture has no samples",
                     "Give it the weight 0 or leave it out.");
  }
  if (options_.epoch_samples % options_.order.lanes != 0)
    return usage("an epoch of " + std::to_string(options_.epoch_samples) +
                     " samples does not fill " + std::to_string(options_.order.lanes) + " lanes",
                 "State whole steps.");
  return {};
}

uint64_t Schedule::samples_until_longest_ends() const {
  uint64_t offsets = 0;
  for (uint32_t set = 0; set < sets_.size(); ++set) {
    if (options_.weights.front().counts[set] == 0) continue;
    for (uint64_t lane = 0; lane < options_.order.lanes; ++lane)
      offsets =
          std::max(offsets, mixture_->needed(lane, set, sets_[set].order->lane_samples(lane)));
  }
  // Lanes were checked to divide the batch. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
  const uint64_t share = options_.order.global_batch / options_.order.lanes;
  return divide_up(offsets, share) * options_.order.global_batch;
}

uint64_t Schedule::epoch_samples() const {
  return is_mixture() ? options_.epoch_samples : sets_.front().order->samples();
}

}  // namespace headrace
