#include "plan/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/try.h"
#include "plan/arithmetic.h"

namespace headrace {
namespace {

constexpr uint32_t kStep = 46073;
static_assert(kStep % 2 == 1);

/// The inverse of kStep modulo the period, by Newton's iteration on 2-adic numbers.
constexpr uint32_t inverse_step() {
  uint32_t inverse = kStep;
  for (int i = 0; i < 5; ++i) inverse *= 2 - kStep * inverse;
  return inverse % kMixturePeriod;
}
static_assert(uint32_t{kStep} * inverse_step() % kMixturePeriod == 1);

Error usage(std::string message, std::string hint) {
  return {
      .code = Code::kUsage, .message = std::move(message), .origin = {}, .hint = std::move(hint)};
}

Status check_weights(const std::vector<double>& weights) {
  if (weights.empty()) return usage("a mixture without weights", "Give one weight a data set.");
  if (weights.size() > kMixturePeriod / 4)
    return usage("a mixture of " + std::to_string(weights.size()) + " data sets",
                 "At most " + std::to_string(kMixturePeriod / 4) + " are possible.");
  for (size_t s = 0; s < weights.size(); ++s)
    if (!std::isfinite(weights[s]) || weights[s] < 0)
      return usage(
          "data set " + std::to_string(s) + " has a weight of " + std::to_string(weights[s]),
          "Weights are finite and not negative.");
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(sum > 0) || !std::isfinite(sum))
    return usage("the weights of the mixture sum to " + std::to_string(sum),
                 "At least one weight must be positive.");
  return {};
}

Status check_segments(const std::vector<WeightSegment>& segments) {
  if (segments.empty() || segments.front().from != 0)
    return usage("the first weights of the mixture do not begin at offset 0", "");
  for (size_t k = 0; k < segments.size(); ++k) {
    const std::vector<uint32_t>& counts = segments[k].counts;
    if (counts.size() != segments.front().counts.size())
      return usage("the mixture changes from " + std::to_string(segments.front().counts.size()) +
                       " data sets to " + std::to_string(counts.size()),
                   "Give a set that is not read the weight 0.");
    if (std::accumulate(counts.begin(), counts.end(), uint64_t{0}) != kMixturePeriod)
      return usage("the counts of a mixture do not sum to " + std::to_string(kMixturePeriod), "");
    if (k > 0 && segments[k].from <= segments[k - 1].from)
      return usage("the weights of the mixture are not in order of their offsets", "");
  }
  return {};
}

}  // namespace

Result<std::vector<uint32_t>> mixture_counts(const std::vector<double>& weights) {
  HR_CHECK(check_weights(weights));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto positive = static_cast<uint32_t>(
      std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 0; }));
  // One for every positive weight; the rest in proportion to what the weight asks beyond that one.
  std::vector<double> beyond(weights.size(), 0.0);
  for (size_t s = 0; s < weights.size(); ++s)
    beyond[s] = std::max(0.0, weights[s] / sum * kMixturePeriod - 1.0);
  const double beyond_sum = std::accumulate(beyond.begin(), beyond.end(), 0.0);

  std::vector<uint32_t> counts(weights.size(), 0);
  std::vector<double> remainders(weights.size(), 0.0);
  uint32_t dealt = 0;
  for (size_t s = 0; s < weights.size(); ++s) {
    const double share = beyond[s] / beyond_sum * (kMixturePeriod - positive);
    counts[s] = static_cast<uint32_t>(share) + (weights[s] > 0 ? 1 : 0);
    remainders[s] = share - std::floor(share);
    dealt += counts[s];
  }
  std::vector<size_t> by_remainder(weights.size());
  std::iota(by_remainder.begin(), by_remainder.end(), size_t{0});
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; dealt < kMixturePeriod; ++i, ++dealt) ++counts[by_remainder[i]];
  return counts;
}

MixturePattern::MixturePattern(std::vector<uint32_t> counts)
    : counts_(std::move(counts)), sets_(kMixturePeriod), indices_(kMixturePeriod) {
  std::vector<uint16_t> owner(kMixturePeriod);
  uint32_t arc = 0;
  for (size_t set = 0; set < counts_.size(); ++set) {
    first_index_.push_back(arc);
    std::fill_n(owner.begin() + arc, counts_[set], static_cast<uint16_t>(set));
    arc += counts_[set];
  }
  std::vector<uint32_t> next = first_index_;
  for (uint32_t index = 0; index < kMixturePeriod; ++index) {
    const uint16_t set = owner[index * kStep % kMixturePeriod];
    sets_[index] = set;
    indices_[next[set]++] = index;
  }
}

uint64_t MixturePattern::before(uint32_t set, uint64_t index) const {
  const auto first = indices_.begin() + first_index_[set];
  const auto within = static_cast<uint32_t>(index % kMixturePeriod);
  return index / kMixturePeriod * counts_[set] +
         static_cast<uint64_t>(std::lower_bound(first, first + counts_[set], within) - first);
}

uint64_t MixturePattern::nth(uint32_t set, uint64_t n) const {
  return n / counts_[set] * kMixturePeriod + indices_[first_index_[set] + n % counts_[set]];
}

uint64_t MixturePattern::lane_start(uint64_t lane, uint64_t lanes) {
  return multiply_divide(lane, kMixturePeriod, lanes) * inverse_step() % kMixturePeriod;
}

Result<Mixture> Mixture::create(uint64_t lanes, std::vector<WeightSegment> segments) {
  HR_CHECK(check_segments(segments));
  return Mixture(lanes, std::move(segments));
}

Mixture::Mixture(uint64_t lanes, std::vector<WeightSegment> segments)
    : lanes_(lanes), segments_(std::move(segments)) {
  for (const WeightSegment& segment : segments_) patterns_.emplace_back(segment.counts);
}

size_t Mixture::segment_of(uint64_t run_offset) const {
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), run_offset,
      [](uint64_t offset, const WeightSegment& segment) { return offset < segment.from; });
  return static_cast<size_t>(after - segments_.begin()) - 1;
}

uint64_t Mixture::count(uint64_t lane, uint32_t set, uint64_t run_offset) const {
  const uint64_t start = MixturePattern::lane_start(lane, lanes_);
  uint64_t total = 0;
  for (size_t k = 0; k < segments_.size() && segments_[k].from < run_offset; ++k) {
    const uint64_t end =
        k + 1 < segments_.size() ? std::min(run_offset, segments_[k + 1].from) : run_offset;
    total +=
        patterns_[k].before(set, start + end) - patterns_[k].before(set, start + segments_[k].from);
  }
  return total;
}

Mixture::Source Mixture::at(uint64_t lane, uint64_t run_offset) const {
  const MixturePattern& pattern = patterns_[segment_of(run_offset)];
  const uint32_t set = pattern.set_at(MixturePattern::lane_start(lane, lanes_) + run_offset);
  return {set, count(lane, set, run_offset)};
}

uint64_t Mixture::needed(uint64_t lane, uint32_t set, uint64_t samples) const {
  if (samples == 0) return 0;
  const uint64_t start = MixturePattern::lane_start(lane, lanes_);
  const MixturePattern& pattern = patterns_.front();
  return pattern.nth(set, pattern.before(set, start) + samples - 1) + 1 - start;
}

}  // namespace headrace
