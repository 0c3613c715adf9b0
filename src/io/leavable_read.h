// A read that others wait for too, so that nothing stops it. Who asked for it may leave all the
// same, told by the token of its thread (StopScope): its own `done` is called then, and the read
// goes on into memory of its own.
//
// Ownership: ended() keeps it alive. Thread-safety: all of it; `done` is called once.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/stop_scope.h"
#include "headrace/bytes.h"
#include "headrace/store.h"

namespace headrace {

class LeavableRead : public std::enable_shared_from_this<LeavableRead> {
 public:
  /// For a read of `object` into `into`, whose end `done` wants to hear of.
  static std::shared_ptr<LeavableRead> begin(const std::string& object, MutableBytes into,
                                             ByteSource::Done done) {
    auto read = std::make_shared<LeavableRead>(into, std::move(done));
    read->on_stop_.emplace(current_stop(), [self = read.get(), object] {
      self->end(Error{.code = Code::kInterrupted,
                      .message = "nobody waits for the read any more",
                      .origin = {.shard = object}});
    });
    return read;
  }
  LeavableRead(MutableBytes into, ByteSource::Done done)
      : memory_(into.size()), into_(into), done_(std::move(done)) {}

  /// What to read into, and what to call then.
  MutableBytes memory() { return memory_; }
  ByteSource::Done ended() {
    return [self = shared_from_this()](Status status) { self->end(std::move(status)); };
  }

 private:
  void end(Status status) {
    ByteSource::Done done;
    {
      const std::lock_guard lock(mutex_);
      done = std::exchange(done_, nullptr);
      if (!done) return;  // it has left
      if (status.ok()) std::ranges::copy(memory_, into_.begin());
    }
    done(std::move(status));
  }

  std::vector<std::byte> memory_;
  const MutableBytes into_;
  std::mutex mutex_;
  ByteSource::Done done_;  ///< empty: was called
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace headrace
