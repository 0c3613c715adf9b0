#include "plan/length_buckets.h"

#include <algorithm>
#include <numeric>

#include "base/permutation.h"

namespace headrace {

std::vector<uint32_t> deal_by_length(std::span<const uint64_t> lengths, uint64_t share,
                                     uint64_t key) {
  std::vector<uint32_t> sorted(lengths.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::ranges::stable_sort(sorted, {}, [&](uint32_t i) { return lengths[i]; });
  const uint64_t steps = lengths.size() / share;
  const Permutation parts(steps, key);
  std::vector<uint32_t> dealt;
  dealt.reserve(sorted.size());
  for (uint64_t step = 0; step < steps; ++step) {
    const auto part = sorted.begin() + static_cast<std::ptrdiff_t>(parts(step) * share);
    dealt.insert(dealt.end(), part, part + static_cast<std::ptrdiff_t>(share));
  }
  return dealt;
}

}  // namespace headrace
