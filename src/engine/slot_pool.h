// Slots: the memory batches are made in. Fresh pages cost a third of a decode, so slots are reused:
// a slot goes back to its pool when the last reference to the batch in it goes.
//
// The pool never overwrites and never blocks: if all slots are held by the consumer it makes
// another one and counts it. Regions are aligned to pages, and of huge ones where that helps.
//
// A pool may be shared: its slots are files without a name (memfd), which processes that are given
// their descriptors map too. They vanish with the last process that has them, however it ends.
// Slots may be page-locked for a CUDA device, as long as they exist.
//
// Ownership: a slot keeps what it needs of its pool alive; a pool may die before its slots.
// Thread-safety: every method may be called from any thread; a slot's memory belongs to its holder.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/page_lock.h"
#include "headrace/bytes.h"

namespace headrace {

struct Slot {
  MutableBytes memory;
  uint64_t id = 0;      ///< of the region in a shared pool, unique in this process
  int descriptor = -1;  ///< of the region in a shared pool; belongs to the pool
};

/// What becomes of free slots, and how memory is got.
struct SlotPoolOptions {
  unsigned keep = 0;  ///< free slots; 0: any number
  bool shared = false;
};

class SlotPool {
 public:
  explicit SlotPool(SlotPoolOptions options);

  struct Usage {
    uint64_t slots = 0;  ///< that exist: free or held
    uint64_t bytes = 0;  ///< of all of them
    uint64_t peak_slots = 0;
  };

  /// A slot with at least `bytes` bytes, contents undefined. Destroying the pointer returns it.
  /// In a shared pool the memory begins with the region.
  std::shared_ptr<const Slot> take(uint64_t bytes);
  Usage usage() const;
  /// Slots that are made from now on are page-locked.
  void lock_slots(std::shared_ptr<PageLock> lock);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace headrace
