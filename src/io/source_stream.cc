#include "io/source_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace headrace {

void SourceStream::seek(uint64_t position) {
  position_ = position;
  const bool held = !parts_.empty() && position >= parts_.front()->begin && position < asked_;
  if (held) {
    while (position >= parts_.front()->begin + parts_.front()->size) parts_.pop_front();
  } else {
    parts_.clear();
    asked_ = position;
  }
}

bool SourceStream::wait(std::chrono::milliseconds patience) {
  ask_ahead();
  if (at_end()) return true;
  Part& part = *parts_.front();
  std::unique_lock lock(part.mutex);
  return part.arrived.wait_for(lock, patience, [&] { return part.is_there; });
}

Result<size_t> SourceStream::read(MutableBytes into) {
  ask_ahead();
  if (at_end() || into.empty()) return size_t{0};
  Part& part = *parts_.front();
  {
    std::unique_lock lock(part.mutex);
    part.arrived.wait(lock, [&] { return part.is_there; });
  }
  if (!part.status.ok()) return part.status.error();
  const uint64_t offset = position_ - part.begin;
  const size_t count = std::min<uint64_t>(into.size(), part.size - offset);
  std::memcpy(into.data(), part.memory.data() + offset, count);
  position_ += count;
  return count;
}

/// The part that was read is left only here, when more is wanted: until then seek() goes back in
/// it.
void SourceStream::ask_ahead() {
  if (at_end()) return;
  std::vector<std::byte> memory;
  if (!parts_.empty() && position_ == parts_.front()->begin + parts_.front()->size)
    memory = leave_front();
  const size_t most = source_->is_remote() ? ahead_ : 1;
  while (parts_.size() < most && asked_ < source_->size()) ask(std::exchange(memory, {}));
}

/// The memory of the front part, for another.
std::vector<std::byte> SourceStream::leave_front() {
  const std::shared_ptr<Part> part = std::move(parts_.front());
  parts_.pop_front();
  ahead_ = std::min(ahead_ + 1, kMostParts);
  return std::move(part->memory);
}

void SourceStream::ask(std::vector<std::byte> memory) {
  auto part = std::make_shared<Part>();
  part->begin = asked_;
  part->size = std::min(kPartBytes, source_->size() - asked_);
  part->memory = std::move(memory);
  part->memory.resize(part->size);
  asked_ += part->size;
  parts_.push_back(part);
  const auto done = [part, source = source_](Status status) {
    const std::scoped_lock lock(part->mutex);
    part->status = std::move(status);
    part->is_there = true;
    part->arrived.notify_all();
  };
  source_->start_read(part->begin, part->memory, kNow, done);
}

}  // namespace headrace
