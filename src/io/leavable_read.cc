#include "io/leavable_read.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/stop_scope.h"

namespace headrace {
namespace {

/// One whose reader waits.
class Waiting {
 public:
  Waiting(const std::string& object, MutableBytes into, ByteSource::Done done)
      : memory_(into.size()), into_(into), done_(std::move(done)) {
    on_stop_.emplace(current_stop(), [this, object] {
      end(Error{.code = Code::kInterrupted,
                .message = "nobody waits for the read any more",
                .origin = {.shard = object}});
    });
  }

  MutableBytes memory() { return memory_; }

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

 private:
  std::vector<std::byte> memory_;
  const MutableBytes into_;
  std::mutex mutex_;
  ByteSource::Done done_;  // empty: was called
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace

LeavableRead leavable_read(const std::string& object, MutableBytes into, Deadline deadline,
                           ByteSource::Done done) {
  if (deadline != kNow || !current_stop().stop_possible()) return {into, std::move(done)};
  const auto read = std::make_shared<Waiting>(object, into, std::move(done));
  return {read->memory(), [read](Status status) { read->end(std::move(status)); }};
}

}  // namespace headrace
