// How far a job is, and the request to stop it.
//
// The threads of a job raise the counters; whoever watches (a progress line, a test) reads them at
// any time. `stop` goes the other way: once it is set, the job ends soon with Code::kInterrupted
// and leaves everything so that the same call goes on where it was.
// Thread-safety: every member may be touched from any thread; `stop` from a signal handler too.
// The job reads and writes it only while it runs; the caller owns it.
#pragma once

#include <atomic>
#include <cstdint>

#include "headrace/result.h"

namespace headrace {

struct Progress {
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> total_bytes{0};  ///< 0 while unknown
  std::atomic<uint64_t> items{0};        ///< samples, shards, files: the face names them
  std::atomic<uint64_t> total_items{0};  ///< 0 while unknown
  std::atomic<bool> stop{false};

  bool stopped() const { return stop.load(std::memory_order_relaxed); }
  /// The error that a stopped job returns.
  static Error interrupted() {
    return {.code = Code::kInterrupted, .message = "stopped before the end"};
  }
};

static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers set Progress::stop");

}  // namespace headrace
