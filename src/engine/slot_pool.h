// Slots: the memory batches are made in. Fresh pages cost a third of a decode, so slots are reused:
// a slot goes back to its pool when the last reference to the batch in it goes.
//
// The pool never overwrites and never blocks: if all slots are held by the consumer it makes
// another one and counts it. Regions are huge-page advised and aligned to pages.
//
// Ownership: a slot keeps what it needs of its pool alive; a pool may die before its slots.
// Thread-safety: every method may be called from any thread; a slot's memory belongs to its holder.
#pragma once

#include <cstdint>
#include <memory>

#include "headrace/bytes.h"

namespace headrace {

class SlotPool {
 public:
  /// At most `keep` free slots are kept; more are given back to the system.
  explicit SlotPool(unsigned keep);

  struct Usage {
    uint64_t slots = 0;  ///< that exist: free or held
    uint64_t bytes = 0;  ///< of all of them
    uint64_t peak_slots = 0;
  };

  /// A slot with at least `bytes` bytes, contents undefined. Destroying the pointer returns it.
  std::shared_ptr<MutableBytes> take(uint64_t bytes);
  Usage usage() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace headrace
