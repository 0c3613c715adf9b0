// Things that threads finish in any order and that are written in theirs.
//
// Whoever adds the next one writes it, and all that follow it without a gap; the other threads go
// on at once. Thread-safety: add and drop from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "base/try.h"

namespace headrace {

template <typename T>
class InOrder {
 public:
  /// Calls write(T) for all that are next, one at a time and without a lock, unless another thread
  /// is at it. After an error nothing more is written. False, and `item` is left as it is, if all
  /// was dropped.
  template <typename Write>
  Result<bool> add(uint64_t number, T&& item, const Write& write) {
    std::unique_lock lock(mutex_);
    if (dropped_) return false;
    waiting_.emplace(number, std::move(item));
    if (writing_) return true;
    writing_ = true;
    while (!dropped_ && !waiting_.empty() && waiting_.begin()->first == next_) {
      T ready = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      ++next_;
      lock.unlock();
      HR_CHECK(write(std::move(ready)));  // writing_ stays: nobody goes on
      lock.lock();
    }
    writing_ = false;
    return true;
  }

  /// Nothing more is written; what waits goes to free(T).
  template <typename Free>
  void drop(const Free& free) {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
    for (auto& [number, item] : waiting_) free(std::move(item));
    waiting_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, T> waiting_;
  uint64_t next_ = 0;
  bool writing_ = false;
  bool dropped_ = false;
};

}  // namespace headrace
