// The Schedule of a run: one data set, or a mixture of several, and what fixes the content of every
// step of it. EpochPlan reads its epochs.
//
// A mixture's epoch is a stated number of samples, the same for every lane; its sets go on from
// epoch to epoch, each with its own epochs (see Mixture). A set of fewer samples than lanes is
// repeated in whole epochs until every lane has one.
//
// Ownership: it shares the shard tables. Thread-safety: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "headrace/order.h"
#include "headrace/result.h"
#include "plan/document_lengths.h"
#include "plan/mixture.h"
#include "plan/order.h"
#include "plan/row_packing.h"

namespace headrace {

/// Positions are counted over all epochs of a mixture.
inline constexpr uint64_t kMostEpochSamples = uint64_t{1} << 60;

/// Everything that fixes the content of every step, beside the data sets.
struct ScheduleOptions {
  OrderOptions order;
  std::vector<WeightSegment> weights;  ///< of a mixture; empty: a single data set
  uint64_t epoch_samples = 0;  ///< of a mixture: steps times global batch; 0: until the set that
                               ///< takes longest ends
};

class Schedule {
 public:
  /// One table a data set. Code::kUsage for options that do not fit the sets or each other.
  static Result<std::shared_ptr<const Schedule>> create(
      const std::vector<std::shared_ptr<const ShardTable>>& sets, ScheduleOptions options);

  /// The same schedule with documents packed as options().order says. Code::kUsage if it is a
  /// mixture or has buckets, or for a length that cannot be. `lengths` are of order(0).
  static Result<std::shared_ptr<const Schedule>> packed(
      const Schedule& schedule, std::shared_ptr<const DocumentLengths> lengths);

  /// With epoch_samples filled in.
  const ScheduleOptions& options() const { return options_; }
  bool is_mixture() const { return mixture_.has_value(); }
  bool is_packed() const { return packing_.has_value(); }
  /// Samples of one epoch over all lanes.
  uint64_t epoch_samples() const;
  /// Rows that its steps have, padding left out: packed ones, else the samples.
  uint64_t epoch_rows() const { return is_packed() ? packing_->rows() : epoch_samples(); }
  size_t sets() const { return sets_.size(); }
  /// The order of a set. A set that was repeated to fill the lanes has repeats() times its samples.
  const std::shared_ptr<const Order>& order(size_t set) const { return sets_[set].order; }
  uint64_t repeats(size_t set) const { return sets_[set].repeats; }
  /// The shard of the data set that a shard of its order is.
  uint32_t data_shard(size_t set, uint32_t shard) const {
    return sets_[set].shards.empty() ? shard : sets_[set].shards[shard];
  }
  /// Precondition: is_mixture().
  const Mixture& mixture() const { return *mixture_; }
  /// Precondition: is_packed().
  const RowPacking& packing() const { return *packing_; }
  const std::shared_ptr<const DocumentLengths>& lengths() const { return lengths_; }

 private:
  struct Set {
    std::shared_ptr<const Order> order;
    uint64_t repeats = 1;
    std::vector<uint32_t> shards;  ///< data shard of each shard of the order; empty: the same
  };

  Schedule() = default;
  static Result<Set> make_set(const std::shared_ptr<const ShardTable>& table,
                              const OrderOptions& options, bool fill_lanes);
  Status check_sets() const;
  uint64_t samples_until_longest_ends() const;

  ScheduleOptions options_;
  std::vector<Set> sets_;
  std::optional<Mixture> mixture_;
  std::optional<RowPacking> packing_;
  std::shared_ptr<const DocumentLengths> lengths_;  ///< of the documents that are packed
};

}  // namespace headrace
