// From the timers to one sentence: what limits the run, and what to change.
#pragma once

#include "engine/slot_pool.h"
#include "engine/timers.h"
#include "headrace/loader.h"

namespace headrace {

/// What else the sentence depends on.
struct RunFacts {
  double seconds = 0;  ///< since the first batch was asked for
  unsigned threads = 1;
  unsigned depth = 2;
  uint64_t memory_bytes = 0;
  bool is_remote = false;     ///< some data set is
  uint64_t largest_slot = 0;  ///< bytes of the largest batch
};

LoaderStats summarise(const Timers& timers, const SlotPool::Usage& pool, const RunFacts& facts);

}  // namespace headrace
