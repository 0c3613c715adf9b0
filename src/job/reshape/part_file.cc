#include "job/reshape/part_file.h"

#include <algorithm>
#include <array>

#include "base/little_endian.h"
#include "base/try.h"

namespace headrace {
namespace {

constexpr size_t kPlace = 8 + 8;
constexpr size_t kWrite = size_t{1} << 20;

}  // namespace

Status PartWriter::add(const BucketFile::Entry& entry) {
  while (entry.position >= ends_[task_]) end_task();
  digest_.update(entry.record);
  bytes_ += entry.record.size();
  buffer_ += as_text(entry.record);
  return buffer_.size() < kWrite ? Status() : flush();
}

void PartWriter::end_task() {
  append_le(directory_, begin_);
  append_le(directory_, digest_.digest());
  digest_.reset();
  begin_ = bytes_;
  ++task_;
}

Status PartWriter::flush() {
  HR_CHECK(sink_->append(as_bytes(buffer_)));
  buffer_.clear();
  return {};
}

Status PartWriter::commit() {
  while (task_ < ends_.size()) end_task();
  end_task();
  HR_CHECK(flush());
  HR_CHECK(sink_->append(as_bytes(directory_)));
  HR_TRY(const bool first, sink_->commit_if_absent());
  static_cast<void>(first);
  return {};
}

Result<PartReader> PartReader::open(std::unique_ptr<ByteSource> source, uint64_t tasks,
                                    uint64_t task, size_t window) {
  PartReader reader(std::move(source), window);
  std::array<std::byte, 2 * kPlace> places{};
  const uint64_t size = reader.source_->size();
  if (size / kPlace < tasks + 1) return reader.damaged();
  HR_CHECK(reader.source_->read_at(size - (tasks + 1 - task) * kPlace, places));
  reader.next_ = load_le<uint64_t>(places.data());
  reader.wanted_digest_ = load_le<uint64_t>(places.data() + 8);
  reader.end_ = load_le<uint64_t>(places.data() + kPlace);
  if (reader.next_ > reader.end_ || reader.end_ > size) return reader.damaged();
  HR_CHECK(reader.move_on());
  return reader;
}

Status PartReader::move_on() {
  at_ += entry_.record.size();
  entry_ = {};
  while (true) {
    const ByteView rest = std::span(buffer_).subspan(at_);
    at_end_ = rest.empty() && next_ == end_;
    if (at_end_) return digest_.digest() == wanted_digest_ ? Status() : damaged();
    const auto size = parse_bucket_record(rest, entry_);
    if (!size || *size > rest.size() + (end_ - next_)) return damaged();
    if (*size > 0 && *size <= rest.size()) return {};
    HR_CHECK(read_more(*size));
  }
}

// What is left over stays, in front.
Status PartReader::read_more(uint64_t wanted) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(at_));
  at_ = 0;
  const size_t kept = buffer_.size();
  const uint64_t more = std::min(std::max<uint64_t>(window_, wanted) - kept, end_ - next_);
  if (more == 0) return damaged();
  buffer_.resize(kept + more);
  const MutableBytes fresh = std::span(buffer_).subspan(kept);
  HR_CHECK(source_->read_at(next_, fresh));
  digest_.update(fresh);
  next_ += more;
  return {};
}

Error PartReader::damaged() const {
  return damaged_between_passes("is damaged", {.shard = source_->name()});
}

}  // namespace headrace
