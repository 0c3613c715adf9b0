#include "io/leavable_read.h"

#include <algorithm>
#include <utility>

#include "base/stop_scope.h"

namespace headrace {

std::shared_ptr<LeavableRead> LeavableRead::begin(const std::string& object, MutableBytes into,
                                                  ByteSource::Done done) {
  auto read = std::make_shared<LeavableRead>(into, std::move(done));
  read->on_stop_.emplace(current_stop(), [self = read.get(), object] {
    self->end(Error{.code = Code::kInterrupted,
                    .message = "nobody waits for the read any more",
                    .origin = {.shard = object}});
  });
  return read;
}

LeavableRead::LeavableRead(MutableBytes into, ByteSource::Done done)
    : memory_(into.size()), into_(into), done_(std::move(done)) {}

ByteSource::Done LeavableRead::ended() {
  return [self = shared_from_this()](Status status) { self->end(std::move(status)); };
}

void LeavableRead::end(Status status) {
  ByteSource::Done done;
  {
    const std::lock_guard lock(mutex_);
    done = std::exchange(done_, nullptr);
    if (!done) return;  // it has left
    if (status.ok()) std::ranges::copy(memory_, into_.begin());
  }
  done(std::move(status));
}

}  // namespace headrace
