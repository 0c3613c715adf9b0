#include "engine/block_hints.h"

#include <algorithm>

#include "base/permutation.h"
#include "plan/shard_table.h"

namespace headrace {
namespace {

constexpr uint64_t kTicketsAfterSlowRead = 64;
constexpr size_t kRemembered = size_t{1} << 16;  // blocks; forgetting one costs a useless hint

}  // namespace

bool BlockHints::begin_ticket() {
  const uint64_t slow = slow_reads_.load(std::memory_order_relaxed);
  if (slow != slow_reads_seen_) tickets_left_ = kTicketsAfterSlowRead;
  slow_reads_seen_ = slow;
  if (tickets_left_ == 0) return false;
  --tickets_left_;
  return true;
}

void BlockHints::row_will_be_read(const Dataset& set, const RowOrigin& row, const ShardView& view) {
  if (!view.archive) return;  // loose files: nothing to read ahead of
  const uint32_t block_samples = set.table().block_samples[row.id.shard];
  const uint32_t block = row.id.sample / block_samples;
  if (hinted_.size() >= kRemembered) hinted_.clear();
  if (!hinted_.insert(mix(uint64_t{row.set} << 32 | row.id.shard, block)).second) return;
  const uint32_t first = block * block_samples;
  const uint32_t last = std::min(view.index->size(), first + block_samples) - 1;
  const uint64_t begin = view.index->sample_begin(first);
  view.archive->will_need(begin, view.index->sample_end(last) - begin);
}

}  // namespace headrace
