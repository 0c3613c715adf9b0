#include "engine/fetched_span.h"

#include <utility>

namespace headrace {

FetchedSpan::FetchedSpan(std::shared_ptr<const ByteSource> source, uint64_t begin, uint64_t end,
                         std::shared_ptr<std::byte> memory)
    : source_(std::move(source)), begin_(begin), end_(end), memory_(std::move(memory)) {
  segments_[begin_] = {.end = end_};
}

/// The segment that begins at `offset`; an idle one that holds it is cut there. Other states are
/// not cut: the segment that holds `offset` is the answer then. Precondition: locked.
FetchedSpan::Segments::iterator FetchedSpan::split_at(uint64_t offset) {
  auto holds = std::prev(segments_.upper_bound(offset));
  if (holds->first == offset || holds->second.state != State::idle) return holds;
  const uint64_t end = std::exchange(holds->second.end, offset);
  return segments_.emplace(offset, Segment{.end = end}).first;
}

void FetchedSpan::want(uint64_t begin, uint64_t end, Deadline deadline,
                       const std::shared_ptr<Countdown>& waiter) {
  std::vector<std::pair<uint64_t, uint64_t>> asked;
  {
    std::scoped_lock lock(mutex_);
    if (end < end_) split_at(end);
    for (auto it = split_at(begin); it != segments_.end() && it->first < end; ++it) {
      Segment& segment = it->second;
      if (segment.state == State::idle) {
        segment.state = State::asked;
        asked.emplace_back(it->first, segment.end);
      }
      if (segment.state == State::done || !waiter) continue;
      waiter->add();
      segment.waiters.push_back(waiter);
    }
  }
  for (const auto& [from, to] : asked) start(from, to, deadline);
}

void FetchedSpan::start(uint64_t begin, uint64_t end, Deadline deadline) {
  const MutableBytes into(memory_.get() + (begin - begin_), end - begin);
  source_->start_read(begin, into, deadline, [self = shared_from_this(), begin](Status status) {
    self->arrived(begin, std::move(status));
  });
}

void FetchedSpan::arrived(uint64_t begin, Status status) {
  std::vector<std::shared_ptr<Countdown>> waiters;
  {
    std::scoped_lock lock(mutex_);
    Segment& segment = segments_.at(begin);
    segment.state = State::done;
    segment.status = std::move(status);
    waiters.swap(segment.waiters);
  }
  for (const auto& waiter : waiters) waiter->done();
}

Result<ByteView> FetchedSpan::bytes(uint64_t offset, uint64_t size) const {
  {
    std::scoped_lock lock(mutex_);
    for (auto it = std::prev(segments_.upper_bound(offset));
         it != segments_.end() && it->first < offset + size; ++it)
      if (!it->second.status.ok()) return it->second.status.error();
  }
  return ByteView(memory_.get() + (offset - begin_), size);
}

}  // namespace headrace
