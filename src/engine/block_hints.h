// Tells storage which blocks will be read, when reads turn out to wait for it.
//
// A window takes its rows in random order out of a few blocks, so the first row of a block means
// that all of it is wanted soon: the block is asked for whole, in large sequential pieces, tickets
// before its rows are read. Files keep it in the page cache, which is the cache of blocks. While
// reads come from memory anyway, hints would only cost time: they are off until a read was slow.
//
// Belongs to the planning thread, but for `saw_slow_read`.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_set>

#include "engine/row_places.h"

namespace headrace {

class BlockHints {
 public:
  /// May be called from any thread.
  void saw_slow_read() { slow_reads_.fetch_add(1, std::memory_order_relaxed); }

  /// Call before the rows of a ticket; false: hints are off now.
  bool begin_ticket();
  void row_will_be_read(const Dataset& set, const RowOrigin& row, const ShardView& view);

 private:
  std::atomic<uint64_t> slow_reads_{0};
  uint64_t slow_reads_seen_ = 0;
  uint64_t tickets_left_ = 0;
  std::unordered_set<uint64_t> hinted_;
};

}  // namespace headrace
