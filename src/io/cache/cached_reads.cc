#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/stop_scope.h"
#include "io/cache/cached_source.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How often somebody else's granule is looked at: soon, then less and less often.
constexpr milliseconds kFirstLook(1);
constexpr milliseconds kSlowestLook(20);
constexpr Deadline kLast = std::numeric_limits<Deadline>::max();

}  // namespace

/// A read under way: done when its parts are.
class CachedReads::Read {
 public:
  Read(uint64_t from, MutableBytes bytes, Deadline when, ByteSource::Done then)
      : offset(from), into(bytes), deadline(when), done_(std::move(then)) {}

  uint64_t end() const { return offset + into.size(); }
  void add_part() { ++parts_; }
  void end_part() { end_part(Status()); }
  void end_part(const Status& status) {
    if (!status.ok()) {
      const std::lock_guard lock(mutex_);
      if (status_.ok()) status_ = status;
    }
    // The memory may go with `done`.
    if (--parts_ == 0) done_(std::move(status_));
  }

  const uint64_t offset;
  const MutableBytes into;
  const Deadline deadline;

 private:
  const ByteSource::Done done_;
  std::atomic<uint64_t> parts_{1};  // the first one belongs to serve()
  std::mutex mutex_;
  Status status_;
};

/// Granules first..last that this process fetches.
struct CachedReads::Request {
  uint64_t first = 0;
  uint64_t last = 0;
  Deadline deadline = kNow;
  bool keep = false;
  bool may_stream = false;  // the whole object for it
  uint64_t bytes = 0;
  std::shared_ptr<std::byte[]> memory = {};
};

// --- What is asked for and what is there ---------------------------------------------------------

// Where the bytes of granules first..last go that the read asks for.
MutableBytes CachedReads::part_of(const Read& read, uint64_t first, uint64_t last,
                                  uint64_t* offset) const {
  const EntryHeader& header = file_->header();
  const uint64_t begin = std::max(read.offset, header.granule_begin(first));
  const uint64_t end = std::min(read.end(), header.granule_begin(last) + header.granule_size(last));
  *offset = begin;
  return read.into.subspan(begin - read.offset, end - begin);
}

CacheFile::Found CachedReads::read_part(const Read& read, uint64_t granule) {
  uint64_t offset = 0;
  const MutableBytes part = part_of(read, granule, granule, &offset);
  const CacheFile::Found found = file_->read(granule, offset, part);
  if (found == CacheFile::Found::kHere) cache_->hit_bytes_ += part.size();
  return found;
}

uint64_t CachedReads::read_present(uint64_t offset, MutableBytes into) {
  const uint64_t granule_bytes = file_->header().granule_bytes;
  uint64_t got = 0;
  while (got < into.size()) {
    const uint64_t granule = (offset + got) / granule_bytes;
    const uint64_t left = (granule + 1) * granule_bytes - (offset + got);
    const MutableBytes part = into.subspan(got, std::min(left, into.size() - got));
    if (file_->read(granule, offset + got, part) != CacheFile::Found::kHere) break;
    got += part.size();
  }
  cache_->hit_bytes_ += got;
  return got;
}

void CachedReads::start(uint64_t offset, MutableBytes into, Deadline deadline,
                        const ByteSource::Done& done) {
  if (into.empty()) return done({});
  auto read = std::make_shared<Read>(offset, into, deadline, done);
  cache_->threads().post(
      [self = shared_from_this(), read = std::move(read)] { self->serve(read); });
}

void CachedReads::serve(const ReadPointer& read) {
  const uint64_t granule_bytes = file_->header().granule_bytes;
  std::vector<uint64_t> missing;
  const uint64_t last = (read->end() - 1) / granule_bytes;
  for (uint64_t granule = read->offset / granule_bytes; granule <= last; ++granule)
    if (read_part(*read, granule) != CacheFile::Found::kHere) missing.push_back(granule);

  if (!cache_->keeps() || !file_->writable()) {
    for (size_t i = 0, next = 0; i < missing.size(); i = next) {
      for (next = i + 1; next < missing.size() && missing[next] == missing[next - 1] + 1;) ++next;
      read->add_part();
      stream(read, missing[i], missing[next - 1]);
    }
  } else {
    std::erase_if(missing, [&](uint64_t granule) { return !join(granule, read); });
    claim(missing, read->deadline);
  }
  read->end_part();
}

// --- Single flight -------------------------------------------------------------------------------

// Lets the read wait for the granule. True: nobody in this process fetches it yet.
bool CachedReads::join(uint64_t granule, const ReadPointer& read) {
  read->add_part();
  const std::lock_guard lock(mutex_);
  const auto [flight, is_new] = flights_.try_emplace(granule);
  flight->second.push_back(read);
  return is_new;
}

// Ends the waiting: whoever waited is answered.
std::vector<CachedReads::ReadPointer> CachedReads::land(uint64_t granule) {
  const std::lock_guard lock(mutex_);
  return std::move(flights_.extract(granule).mapped());
}

uint64_t CachedReads::granules_a_request() const {
  return std::max<uint64_t>(1, cache_->options_.request_bytes / file_->header().granule_bytes);
}

// Fetches those of the granules that no other process does; `granules` are in order.
void CachedReads::claim(const std::vector<uint64_t>& granules, Deadline deadline) {
  const uint64_t most = granules_a_request();
  const bool streams = inner_->is_spooled();
  const bool is_ours = !streams || may_stream(deadline);
  std::vector<uint64_t> run;
  const auto end_run = [&] {
    if (!run.empty()) fetch(run.front(), run.back(), deadline, streams);
    run.clear();
  };
  for (const uint64_t granule : granules) {
    if (!is_ours || !file_->try_lock(granule)) {
      look_again(granule, deadline, Clock::now(), kFirstLook);
      continue;
    }
    // Another process may have fetched it before the lock was got.
    const CacheFile::Found found = file_->check(granule);
    if (found == CacheFile::Found::kHere) {
      file_->unlock(granule);
      deliver_from_file(granule, land(granule));
      continue;
    }
    if (found == CacheFile::Found::kDamaged) {
      ++cache_->damaged_;
      file_->forget(granule);  // so that it is missing, for those too who fill the cache
    }
    if (!run.empty() && (granule != run.back() + 1 || run.size() == most)) end_run();
    run.push_back(granule);
  }
  end_run();
}

// Another process has the granule, or the turn: it comes, or its holder goes away, or takes too
// long.
void CachedReads::look_again(uint64_t granule, Deadline deadline, Clock::time_point since,
                             milliseconds delay) {
  cache_->threads().post_after(delay, [=, self = shared_from_this()] {
    if (self->file_->check(granule) == CacheFile::Found::kHere)
      return self->deliver_from_file(granule, self->land(granule));
    const bool is_ours = !self->inner_->is_spooled() || self->may_stream(deadline);
    if (is_ours && self->file_->try_lock(granule)) {
      self->file_->unlock(granule);
      return self->claim({granule}, deadline);
    }
    if (self->turn_.is_worth_waiting(since))
      return self->look_again(granule, deadline, since, std::min(2 * delay, kSlowestLook));
    for (const ReadPointer& read : self->land(granule)) self->stream(read, granule, granule);
  });
}

void CachedReads::deliver_from_file(uint64_t granule, const std::vector<ReadPointer>& reads) {
  for (const ReadPointer& read : reads) {
    if (read_part(*read, granule) == CacheFile::Found::kHere)
      read->end_part();
    else
      stream(read, granule, granule);
  }
}

// --- One stream of the whole object --------------------------------------------------------------

// Whether this process may stream the object: takes the turn if nobody has it. What is not kept is
// everybody's own.
bool CachedReads::may_stream(Deadline deadline) {
  if (!cache_->keeps()) return true;
  const StreamTurn::Held held = turn_.take();
  if (held != StreamTurn::Held::kSinceNow) return held == StreamTurn::Held::kAlready;
  pulse();
  fill(0, deadline);
  return true;
}

// While the turn is held, the others see that this process lives.
void CachedReads::pulse() {
  if (!turn_.pulse()) return;
  cache_->threads().post_after(cache_->options_.patience / 4, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->pulse();
  });
}

// Reads what the cache has not, from granule `first` on, so that nobody else need stream it, and
// ends the turn.
void CachedReads::fill(uint64_t first, Deadline deadline) {
  const EntryHeader& header = file_->header();
  const uint64_t most = granules_a_request();
  while (first < header.granules() && file_->has(first)) ++first;
  if (first == header.granules() || closed_ || !cache_->keeps()) return turn_.end();
  uint64_t end = first + 1;
  while (end < header.granules() && end - first < most && !file_->has(end)) ++end;
  const uint64_t offset = header.granule_begin(first);
  const uint64_t bytes = std::min(header.granule_begin(end), header.object_bytes) - offset;
  const auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
  start(offset, {memory.get(), bytes}, deadline,
        [self = shared_from_this(), memory, end](const Status& status) {
          return status.ok() ? self->fill(end, kLast) : self->turn_.end();
        });
}

// --- From the store ------------------------------------------------------------------------------

// For answers of the store: leaves its thread without a reference, whose end would stop that
// thread.
template <typename Task>
void CachedReads::post(std::shared_ptr<CachedReads> self, Task task) {
  IoThreads& threads = self->cache_->threads();
  threads.post([self = std::move(self), task = std::move(task)] { task(*self); });
}

// Just the bytes that the read asks for, which are not kept. Ends one part of the read.
void CachedReads::stream(const ReadPointer& read, uint64_t first, uint64_t last) {
  uint64_t offset = 0;
  const MutableBytes part = part_of(*read, first, last, &offset);
  cache_->streamed_bytes_ += part.size();
  const StopScope scope(stop_.get_token());
  inner_->start_read(offset, part, read->deadline,
                     [self = shared_from_this(), read](const Status& status) mutable {
                       post(std::move(self),
                            [read, status](CachedReads&) { read->end_part(status); });
                     });
}

void CachedReads::fetch(uint64_t first, uint64_t last, Deadline deadline, bool streams) {
  const EntryHeader& header = file_->header();
  const uint64_t offset = header.granule_begin(first);
  Request request{.first = first, .last = last, .deadline = deadline};
  request.bytes = header.granule_begin(last) + header.granule_size(last) - offset;
  request.keep = cache_->keeps() && cache_->take(request.bytes) && allocate(first, last);
  request.memory = std::make_shared_for_overwrite<std::byte[]>(request.bytes);
  request.may_stream = !request.keep || streams;
  const MutableBytes into(request.memory.get(), request.bytes);
  const StopScope scope(stop_.get_token());
  const auto done = [self = shared_from_this(), request](const Status& status) mutable {
    post(std::move(self),
         [request, status](CachedReads& reads) { reads.answered(request, status); });
  };
  if (request.may_stream) return inner_->start_read(offset, into, deadline, done);
  inner_->start_range(offset, into, deadline, done);
}

void CachedReads::answered(const Request& request, const Status& status) {
  const bool no_ranges =
      !status.ok() && status.error().code == Code::kUsage && inner_->is_spooled();
  if (!no_ranges || request.may_stream) return fetched(request, status);
  // As a stream, when it is this process's turn.
  std::vector<uint64_t> granules(request.last - request.first + 1);
  std::iota(granules.begin(), granules.end(), request.first);
  for (const uint64_t granule : granules) file_->unlock(granule);
  claim(granules, request.deadline);
}

bool CachedReads::allocate(uint64_t first, uint64_t last) {
  const Status allocated = file_->allocate(first, last);
  if (!allocated.ok()) cache_->report(allocated.error());
  return allocated.ok();
}

void CachedReads::fetched(const Request& request, const Status& status) {
  if (status.ok())
    (request.keep ? cache_->fetched_bytes_ : cache_->streamed_bytes_) += request.bytes;
  const EntryHeader& header = file_->header();
  const uint64_t begin = header.granule_begin(request.first);
  bool keep = request.keep && status.ok();
  for (uint64_t granule = request.first; granule <= request.last; ++granule) {
    const ByteView bytes(request.memory.get() + (header.granule_begin(granule) - begin),
                         header.granule_size(granule));
    if (keep) {
      const Status kept = file_->write(granule, bytes);
      if (!kept.ok()) cache_->report(kept.error());
      keep = kept.ok();
    }
    // In this order: the granule may be locked again as soon as nobody waits for it.
    file_->unlock(granule);
    for (const ReadPointer& read : land(granule)) {
      uint64_t offset = 0;
      const MutableBytes part = part_of(*read, granule, granule, &offset);
      if (status.ok())
        std::memcpy(part.data(), bytes.data() + (offset - header.granule_begin(granule)),
                    part.size());
      read->end_part(status);
    }
  }
}

}  // namespace headrace
