// Mixtures: which data set of several each lane offset reads, by weight, as a pure function.
//
// Weights become whole counts that sum to P = 65536. The values 0 … P-1 on a circle are dealt to
// the sets in arcs of their counts; lane l at run offset j looks at the value
//
//   (j g + floor(l P / L)) mod P          g = 46073
//
//   values   | set 0       | set 1 |s2|   along a lane: steps of g, which visit every arc at its
//   lanes      ^   ^   ^   ^   ^   ^      rate from the first samples on; across the lanes at one
//              0   1   2   3   4   5      offset: evenly spaced, so any arc gets its share of the
//                                         lanes, rounded up or down
//
// g / P has the continued fraction with the smallest quotients (all 1 or 2) of any odd g, as the
// golden ratio has among the reals: no multiple of it comes near a whole number early, so that the
// values of any stretch of a lane lie evenly (Niederreiter, "Random Number Generation and
// Quasi-Monte Carlo Methods", 1992, chapter 3).
//
// As g is odd, moving the value by a lane's share is moving along the pattern, so one table serves
// all lanes. Offsets here count from the start of the run ("run offset"), over all epochs.
// Weights may change at a run offset: a list of weight segments, in which each set goes on where it
// was. Thread-safety: immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "headrace/result.h"

namespace headrace {

/// From run offset `from` on, set s has counts[s] of every kMixturePeriod offsets of a lane.
struct WeightSegment {
  uint64_t from = 0;
  std::vector<uint32_t> counts;
  bool operator==(const WeightSegment&) const = default;
};

inline constexpr uint32_t kMixturePeriod = 65536;

/// Weights as counts: largest remainders, at least 1 for every positive weight. Code::kUsage for
/// weights that are negative, not finite, all 0, or more than a quarter of the period.
Result<std::vector<uint32_t>> mixture_counts(const std::vector<double>& weights);

/// Which set each index of the pattern reads, and how often it did before.
class MixturePattern {
 public:
  /// Precondition: the counts sum to kMixturePeriod.
  explicit MixturePattern(std::vector<uint32_t> counts);

  uint32_t count(uint32_t set) const { return counts_[set]; }
  uint32_t set_at(uint64_t index) const { return sets_[index % kMixturePeriod]; }
  /// How many of the indices [0, index) read `set`. O(log P).
  uint64_t before(uint32_t set, uint64_t index) const;
  /// The index of the nth (from 0) time that `set` is read. Precondition: count(set) > 0.
  uint64_t nth(uint32_t set, uint64_t n) const;

  /// Where in the pattern lane `lane` of `lanes` begins.
  static uint64_t lane_start(uint64_t lane, uint64_t lanes);

 private:
  std::vector<uint32_t> counts_;
  std::vector<uint16_t> sets_;         ///< by index
  std::vector<uint32_t> indices_;      ///< by set, ascending
  std::vector<uint32_t> first_index_;  ///< of each set in indices_
};

class Mixture {
 public:
  /// Code::kUsage if segments are out of order, differ in sets, or do not sum to the period.
  static Result<Mixture> create(uint64_t lanes, std::vector<WeightSegment> segments);

  struct Source {
    uint32_t set = 0;
    uint64_t offset = 0;  ///< in that set's lane, over all its own epochs
  };
  /// What lane `lane` reads at a run offset. O(segments log P).
  Source at(uint64_t lane, uint64_t run_offset) const;
  /// How many of the run offsets [0, run_offset) of a lane read `set`.
  uint64_t count(uint64_t lane, uint32_t set, uint64_t run_offset) const;
  /// The least run offset by which a lane has read `samples` of `set`, in the first segment's
  /// weights. Precondition: its count there is not 0.
  uint64_t needed(uint64_t lane, uint32_t set, uint64_t samples) const;

  const std::vector<WeightSegment>& segments() const { return segments_; }

 private:
  Mixture(uint64_t lanes, std::vector<WeightSegment> segments);
  size_t segment_of(uint64_t run_offset) const;

  uint64_t lanes_;
  std::vector<WeightSegment> segments_;
  std::vector<MixturePattern> patterns_;  ///< of each segment
};

}  // namespace headrace
