#include "io/http/download.h"

#include <algorithm>
#include <future>
#include <limits>
#include <utility>
#include <vector>

#include "base/stop_scope.h"
#include "base/try.h"
#include "io/leavable_read.h"

namespace headrace {
namespace {

constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();  // of those who wait for all of it

// How often a stream that breaks is begun again is for the fetcher to say, not how long it takes.
constexpr auto kPatience = std::chrono::hours(24);

Error given_up(const std::string& object) {
  return {.code = Code::kInterrupted,
          .message = "the object was closed while it was read",
          .origin = {.shard = object}};
}

}  // namespace

// --- Readers -------------------------------------------------------------------------------------

void Download::read(Fetcher& fetcher, uint64_t offset, MutableBytes into, Deadline deadline,
                    const ByteSource::Done& done) {
  if (is_complete()) return done(spool_.read_at(offset, into));
  wait(fetcher, offset + into.size(), {offset, into, done}, deadline);
}

Result<uint64_t> Download::whole(Fetcher& fetcher) {
  std::promise<Status> promise;
  auto answer = promise.get_future();
  wait(fetcher, kEnd, {0, {}, [&](Status status) { promise.set_value(std::move(status)); }}, kNow);
  HR_CHECK(answer.get());
  return spool_.size();
}

void Download::wait(Fetcher& fetcher, uint64_t end, Reader reader, Deadline deadline) {
  LeavableRead read = leavable_read(object_->name(), reader.into, deadline, std::move(reader.done));
  reader.into = read.into;
  reader.done = std::move(read.done);
  std::unique_lock lock(mutex_);
  if (!is_complete() && end > spool_.size()) {
    readers_.emplace(end, std::move(reader));
    const bool begins = !std::exchange(running_, true);
    lock.unlock();
    if (begins) begin(fetcher, deadline, false);
    return;
  }
  if (spool_.is_in_file()) lock.unlock();  // where it may be read while it grows
  const Status status = spool_.read_at(reader.offset, reader.into);
  if (lock.owns_lock()) lock.unlock();
  reader.done(status);
}

// --- The transfer --------------------------------------------------------------------------------

void Download::begin(Fetcher& fetcher, Deadline deadline, bool again) {
  HttpCall call = object_->get(pin_->version());
  call.object = object_->name();
  call.deadline = deadline;
  call.patience = kPatience;
  const StopScope everybodys({});
  // Not to hold it is what ends the transfer when nobody reads any more.
  call.check = [weak = weak_from_this(), name = call.object](const HttpResponse& answer) {
    const auto self = weak.lock();
    return self ? self->pin_->check(*self->object_, answer) : Status(given_up(name));
  };
  call.sink = [weak = weak_from_this(), name = call.object](uint64_t offset, ByteView bytes) {
    const auto self = weak.lock();
    return self ? self->take(offset, bytes) : Status(given_up(name));
  };
  fetcher.start(std::move(call), [weak = weak_from_this(), &fetcher, deadline,
                                  again](const Result<HttpResponse>& answer) {
    const auto self = weak.lock();
    if (!self) return;
    if (!answer.ok()) return self->end(answer.error());
    if (answer->is_success()) return self->end(self->check_end(*answer));
    if (!again && self->object_->recover(*answer)) return self->begin(fetcher, deadline, true);
    self->end(self->object_->error(*answer));
  });
}

Status Download::take(uint64_t offset, ByteView bytes) {
  const uint64_t known = spool_.size();  // grows on this thread alone
  const size_t again = offset < known ? std::min<uint64_t>(bytes.size(), known - offset) : 0;
  HR_CHECK(compare(offset, bytes.first(again)));
  if (again == bytes.size()) return {};
  Readers ready;
  {
    const std::lock_guard lock(mutex_);
    HR_CHECK(keep(bytes.subspan(again)));
    const auto last = readers_.upper_bound(spool_.size());
    while (readers_.begin() != last) ready.insert(readers_.extract(readers_.begin()));
  }
  for (const auto& [end, reader] : ready) reader.done(spool_.read_at(reader.offset, reader.into));
  return {};
}

Status Download::keep(ByteView bytes) {
  if (!kept_.ok()) return kept_;
  kept_ = spool_.append(bytes);
  if (kept_.ok()) return {};
  Error error = kept_.error();
  error.origin.shard = object_->name();
  if (error.code == Code::kNoSpace)
    error.hint =
        "Its server serves no ranges, so all of it is kept in a temporary file: let TMPDIR name a "
        "larger disk.";
  kept_ = std::move(error);
  return kept_;
}

Status Download::compare(uint64_t offset, ByteView bytes) const {
  std::vector<std::byte> before(bytes.size());
  HR_CHECK(spool_.read_at(offset, before));
  if (std::ranges::equal(before, bytes)) return {};
  return object_changed(object_->name(), "it came with other bytes when it was asked for again");
}

Status Download::check_end(const HttpResponse& answer) const {
  object_->found_at(answer.url);
  const uint64_t bytes = spool_.size();
  if (answer.body_bytes == bytes && pin_->bytes().value_or(bytes) == bytes) return {};
  return object_changed(object_->name(),
                        "it should have " + std::to_string(pin_->bytes().value_or(bytes)) +
                            " bytes, and " + std::to_string(answer.body_bytes) + " came");
}

void Download::end(const Status& status) {
  Readers readers;
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
    if (status.ok()) spool_.finish();
    complete_.store(status.ok(), std::memory_order_release);
    readers.swap(readers_);
  }
  for (const auto& [end, reader] : readers)
    reader.done(status.ok() ? spool_.read_at(reader.offset, reader.into) : status);
}

}  // namespace headrace
