// Whose turn it is, of the processes of a node, to stream an object whose server serves no ranges.
//
// The turn is a lock on the object's file. Who has it also changes another lock to and fro, so that
// the others see that it lives: a stream takes as long as its object is large, but nobody waits for
// a process that is stopped.
//
//   holder   turn  |=========================|
//            pulse |===|   |===|   |===|   |=|      seen by those who wait; none for `patience`:
//                                                   they wait no longer for this holder
//
// Thread-safe.
#pragma once

#include <chrono>
#include <mutex>

#include "io/cache/cache_file.h"

namespace headrace {

class StreamTurn {
 public:
  using Clock = std::chrono::steady_clock;

  StreamTurn(CacheFile& file, std::chrono::milliseconds patience)
      : file_(file), patience_(patience) {}

  enum class Held { kByOthers, kAlready, kSinceNow };
  Held take();
  void end();
  /// To be called every `patience` / 4 while this is true.
  bool pulse();
  /// Whether to go on waiting for what another process fetches, by a stream or without one.
  /// `since`: when the waiting began.
  bool is_worth_waiting(Clock::time_point since);

 private:
  CacheFile& file_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  bool held_ = false;
  bool pulse_ = false;  // held: the own one; else what was last seen of the holder's
  Clock::time_point changed_{};
  bool gave_up_ = false;  // on the holder: it did not change for too long
};

}  // namespace headrace
