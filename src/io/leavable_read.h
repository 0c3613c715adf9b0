// A read that others wait for too, so that nothing stops it. Who asked for it may leave all the
// same, told by the token of its thread (StopScope): its own `done` is called then, and the read
// goes on into memory of its own.
// For reads that somebody waits for (kNow): loaders own the memory of theirs.
//
// Ownership: ended() keeps it alive. Thread-safety: all of it; `done` is called once.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/store.h"

namespace headrace {

class LeavableRead : public std::enable_shared_from_this<LeavableRead> {
 public:
  /// For a read of `object` into `into`, whose end `done` wants to hear of: Code::kInterrupted when
  /// it left.
  static std::shared_ptr<LeavableRead> begin(const std::string& object, MutableBytes into,
                                             ByteSource::Done done);
  LeavableRead(MutableBytes into, ByteSource::Done done);

  /// What to read into, and what to call then.
  MutableBytes memory() { return memory_; }
  ByteSource::Done ended();

 private:
  void end(Status status);

  std::vector<std::byte> memory_;
  const MutableBytes into_;
  std::mutex mutex_;
  ByteSource::Done done_;  ///< empty: was called
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace headrace
