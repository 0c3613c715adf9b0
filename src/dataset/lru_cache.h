// A cache of shared values with a budget: the least recently used go first. What a caller holds
// stays alive, and is found again for so long.
//
// Thread-safety: every method may be called from any thread. A value may be loaded twice when two
// threads miss at once; both get a good one.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/try.h"
#include "headrace/result.h"

namespace headrace {

template <typename Value>
class LruCache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  /// The newest value is kept even if it takes more than the budget, unless that is 0; and those
  /// for which `stays` is true when they would have to go.
  using Stays = bool (*)(const Value&);
  explicit LruCache(uint64_t budget, Stays stays = nullptr) : budget_(budget), stays_(stays) {}

  /// The value of `key`, from `load()` (a Result<Pointer>) if it is not here. `cost(value)` is what
  /// it takes of the budget.
  template <typename Load, typename Cost>
  Result<Pointer> get(uint64_t key, const Load& load, const Cost& cost) {
    if (Pointer known = find(key)) return known;
    HR_TRY(Pointer value, load());
    insert(key, value, cost(*value));
    return value;
  }

 private:
  struct Entry {
    uint64_t key;
    Pointer value;
    uint64_t cost;
  };

  Pointer find(uint64_t key) {
    std::scoped_lock lock(mutex_);
    const auto it = entries_.find(key);
    if (it == entries_.end()) {
      const auto gone = forgotten_.find(key);
      return gone == forgotten_.end() ? nullptr : gone->second.lock();
    }
    recent_.splice(recent_.begin(), recent_, it->second);
    return it->second->value;
  }

  void insert(uint64_t key, Pointer value, uint64_t cost) {
    std::scoped_lock lock(mutex_);
    if (entries_.contains(key)) return;
    recent_.push_front({key, std::move(value), cost});
    entries_[key] = recent_.begin();
    used_ += cost;
    for (auto it = recent_.end(); used_ > budget_ && it != recent_.begin();) {
      --it;
      const bool is_newest = it == recent_.begin() && budget_ > 0;
      const bool stays = stays_ != nullptr && stays_(*it->value);
      if (!is_newest && !stays) it = forget(it);
    }
  }

  typename std::list<Entry>::iterator forget(typename std::list<Entry>::iterator entry) {
    used_ -= entry->cost;
    entries_.erase(entry->key);
    auto& known = forgotten_[entry->key];
    if (known.expired()) known = entry->value;
    return recent_.erase(entry);
  }

  const uint64_t budget_;
  const Stays stays_;
  std::mutex mutex_;
  uint64_t used_ = 0;
  std::list<Entry> recent_;  // most recent first
  std::unordered_map<uint64_t, typename std::list<Entry>::iterator> entries_;
  std::unordered_map<uint64_t, std::weak_ptr<const Value>> forgotten_;
};

}  // namespace headrace
