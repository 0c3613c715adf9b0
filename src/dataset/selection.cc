#include "headrace/selection.h"

#include <cmath>
#include <optional>

#include "base/parallel.h"
#include "base/permutation.h"
#include "base/try.h"
#include "format/shard_index.h"

namespace headrace {
namespace {

/// Hashes below this belong to the share [0, share); nothing: all of them do.
std::optional<uint64_t> threshold(double share) {
  if (share >= 1) return std::nullopt;
  return static_cast<uint64_t>(std::ldexp(share, 64));
}

std::vector<bool> keys_in_range(const ShardIndex& index, const HashRange& range) {
  const auto begin = threshold(range.begin);
  const auto end = threshold(range.end);
  std::vector<bool> kept(index.size());
  for (uint32_t i = 0; i < index.size(); ++i) {
    const uint64_t hash = mix(key_hash(index.key(i)), range.seed);
    kept[i] = begin && hash >= *begin && (!end || hash < *end);
  }
  return kept;
}

}  // namespace

Result<Selection> select_by_hash(const Dataset& set, const HashRange& range, unsigned threads) {
  if (!(range.begin >= 0 && range.begin <= range.end && range.end <= 1))
    return Error{.code = Code::kUsage,
                 .message = "a share of the keys is a range inside 0 to 1, and not from " +
                            std::to_string(range.begin) + " to " + std::to_string(range.end)};
  Selection selection;
  selection.kept.resize(set.shards());
  HR_CHECK(for_each(set.shards(), thread_count(threads), [&](uint64_t shard) -> Status {
    HR_TRY(const auto index, set.index(static_cast<uint32_t>(shard)));
    selection.kept[shard] = keys_in_range(*index, range);
    return {};
  }));
  return selection;
}

}  // namespace headrace
