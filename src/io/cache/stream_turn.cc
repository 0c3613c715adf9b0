#include "io/cache/stream_turn.h"

#include <algorithm>
#include <utility>

namespace headrace {

StreamTurn::Held StreamTurn::take() {
  const std::lock_guard lock(mutex_);
  if (held_) return Held::kAlready;
  held_ = file_.try_lock(CacheFile::Sign::kTurn);
  return held_ ? Held::kSinceNow : Held::kByOthers;
}

void StreamTurn::end() {
  const std::lock_guard lock(mutex_);
  file_.unlock(CacheFile::Sign::kPulse);
  file_.unlock(CacheFile::Sign::kTurn);
  held_ = pulse_ = false;
}

bool StreamTurn::pulse() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  // A turn may be taken again before the calls for the one before have ended.
  if (!held_ || now - changed_ < patience_ / 8) return held_;
  changed_ = now;
  pulse_ = !pulse_;
  if (!pulse_)
    file_.unlock(CacheFile::Sign::kPulse);
  else
    file_.try_lock(CacheFile::Sign::kPulse);
  return true;
}

bool StreamTurn::is_worth_waiting(Clock::time_point since) {
  const auto now = Clock::now();
  const bool pulse = file_.is_locked(CacheFile::Sign::kPulse);
  const std::lock_guard lock(mutex_);
  if (std::exchange(pulse_, pulse) != pulse) {
    changed_ = now;
    gave_up_ = false;
  }
  if (gave_up_) return false;
  if (now - std::max(since, changed_) < patience_) return true;
  gave_up_ = file_.is_locked(CacheFile::Sign::kTurn);
  return false;
}

}  // namespace headrace
