#include "job/reshape/gather.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/first_error.h"
#include "base/parallel.h"
#include "base/try.h"
#include "dataset/containers.h"
#include "job/reshape/segment.h"

namespace headrace {
namespace {

// Small enough, and few enough at once, that they stay in the processor's caches until they are
// written; over a network, large enough for a request, and as many as memory holds.
constexpr size_t kLocalSegment = size_t{256} << 10;
constexpr size_t kLocalAhead = 8;
constexpr size_t kRemoteSegment = size_t{4} << 20;

// A shard that is being written.
class GatheredShard {
 public:
  GatheredShard(const ReshapePlan& plan, const SampleLayouts& layouts, Store& store,
                Publication& publication, uint64_t task)
      : layouts_(layouts),
        publication_(publication),
        task_(task),
        object_(store, publication.shard_folder() + plan.shard(task).name, layouts.fields(),
                plan.container()) {}

  /// Whether the shard is finished now. Two threads at most are at it, one with checksums and one
  /// that writes; the others go on at once.
  Result<bool> add(GatherSegment segment, const std::function<void(GatherSegment)>& free) {
    bool finished = false;
    std::unique_lock lock(mutex_);
    to_digest_.emplace(segment.number, std::move(segment));
    while (true) {
      if (!writing_ && is_next(to_write_, next_written_)) {
        GatherSegment ready = take(to_write_, next_written_);
        writing_ = true;
        lock.unlock();
        finished = ready.last;
        HR_CHECK(write(ready));  // writing_ stays: nobody goes on
        free(std::move(ready));
        lock.lock();
        writing_ = false;
      } else if (!digesting_ && is_next(to_digest_, next_digested_)) {
        GatherSegment ready = take(to_digest_, next_digested_);
        digesting_ = true;
        lock.unlock();
        object_.digest(ready.bytes());
        lock.lock();
        digesting_ = false;
        to_write_.emplace(ready.number, std::move(ready));
      } else {
        return finished;
      }
    }
  }

 private:
  using Waiting = std::map<uint64_t, GatherSegment>;  // by number

  static bool is_next(const Waiting& waiting, uint64_t number) {
    return !waiting.empty() && waiting.begin()->first == number;
  }
  static GatherSegment take(Waiting& waiting, uint64_t& number) {
    ++number;
    return std::move(waiting.extract(waiting.begin()).mapped());
  }

  Status write(GatherSegment& segment) {
    for (SkippedSample& sample : segment.skipped) object_.skip(std::move(sample));
    const Status appended = object_.append(segment.bytes(), segment.placed, segment.packed);
    if (!appended.ok() && appended.error().code == Code::kCorrupt)
      return layouts_.damaged(large_.shard, large_.offset);
    HR_CHECK(appended);
    if (!segment.placed.empty() && segment.placed.back().size > 0 &&
        segment.placed.back().data < segment.used)
      large_ = read_of(segment, segment.placed.back().data);
    if (!segment.last) return {};
    HR_TRY(const ShardRecord record, object_.finish());
    return publication_.put_record(task_, record);
  }

  const SampleLayouts& layouts_;
  Publication& publication_;
  const uint64_t task_;
  SegmentRead large_;  // from the newest payload on, which may go on in the next segments
  std::mutex mutex_;   // of what follows, but for the object
  Waiting to_digest_;
  Waiting to_write_;
  uint64_t next_digested_ = 0;
  uint64_t next_written_ = 0;
  bool digesting_ = false;
  bool writing_ = false;
  ShardObject object_;
};

// Threads share the work by lanes: each cuts a shard of its own, so that a thread mostly writes
// what it has read itself, and files of one folder are written side by side. Where fewer shards
// than threads are left, threads meet in a lane; those that do not write there read and digest
// ahead.
class Gather {
 public:
  Gather(const ReshapePlan& plan, const GatherOptions& options, Store& store,
         Publication& publication, std::vector<uint64_t> tasks, Progress& progress)
      : plan_(plan),
        store_(store),
        publication_(publication),
        progress_(progress),
        remote_(plan.inputs().is_remote()),
        ahead_(remote_ ? SIZE_MAX : kLocalAhead),
        layouts_(plan.inputs(), plan.assignment().fields, plan.assignment().rekey),
        tasks_(std::move(tasks)),
        left_(std::max<uint64_t>(
            options.threads + 1,
            options.memory_bytes / (remote_ ? kRemoteSegment : 4 * kLocalSegment))) {}

  Status prepare(unsigned threads) {
    IndexTable indexes(plan_.inputs());
    if (plan_.order().kind() != SampleOrder::Kind::kIdentity)
      HR_CHECK(indexes.load_all(remote_ ? 32 : threads));
    // Over a network threads do not wait for reads, and memory is for those of one shard.
    const size_t lanes = remote_ ? 1 : std::min<size_t>(threads, tasks_.size());
    while (lanes_.size() < lanes)
      lanes_.emplace_back(lanes_.size(), plan_, layouts_, indexes, segment_bytes());
    return {};
  }

  void work() {
    while (auto segment = next()) {
      Status status =
          segment->error.ok() ? deliver(std::move(segment->segment)) : std::move(segment->error);
      if (!status.ok()) fail(segment->task, segment->number, std::move(status).error());
    }
  }

  Status result() {
    if (error_.is_set()) return error_.take();
    if (progress_.stopped() && !(is_all_cut() && shards_.empty())) return Progress::interrupted();
    return {};
  }

 private:
  // In a compressed container segments are frames, which must not depend on where inputs lie.
  size_t segment_bytes() const {
    return remote_ && !is_compressed(plan_.container()) ? kRemoteSegment : kLocalSegment;
  }

  // A segment on its way: its reads, and what became of them.
  struct Flight {
    GatherSegment segment;
    uint64_t task = 0;
    uint64_t number = 0;
    std::vector<std::shared_ptr<const ByteSource>> sources;
    std::atomic<size_t> reads_left{0};
    std::mutex mutex;
    Status error;
  };

  // A shard that is being cut.
  struct Lane {
    Lane(size_t index, const ReshapePlan& plan, const SampleLayouts& layouts,
         const IndexTable& indexes, size_t segment_bytes)
        : number(index), cut(plan, layouts, indexes, segment_bytes) {}
    const size_t number;
    SegmentCut cut;
    bool cutting = false;  // by one thread, without the lock
    size_t under_way = 0;  // segments
  };

  // The next segment that is filled: one that has come, or a new one. Nothing at the end.
  std::unique_ptr<Flight> next() {
    std::unique_lock lock(mutex_);
    while (!error_.is_set() && !progress_.stopped()) {
      if (!arrived_.empty()) return take_arrived();
      if (Lane* lane = free_lane()) {
        if (auto flight = cut(*lane, lock)) return flight;
      } else if (is_all_cut() && in_flight_ == 0) {
        break;
      } else {
        changed_.wait(lock);
      }
    }
    changed_.notify_all();  // the others end too
    changed_.wait(lock, [this] { return in_flight_ == arrived_.size(); });
    return nullptr;
  }

  // Of those that may be cut on, the one with the fewest segments under way: mostly the one that
  // the thread comes from.
  Lane* free_lane() {
    if (left_ == 0) return nullptr;
    Lane* found = nullptr;
    for (Lane& lane : lanes_) {
      if (lane.cutting) continue;  // its cut belongs to that thread
      const bool more = !lane.cut.is_at_end() || next_task_ < tasks_.size();
      if (more && lane.under_way < ahead_ &&
          (found == nullptr || lane.under_way < found->under_way))
        found = &lane;
    }
    if (found != nullptr && found->cut.is_at_end()) found->cut.begin(tasks_[next_task_++]);
    return found;
  }

  bool is_all_cut() const {
    return next_task_ == tasks_.size() && std::ranges::all_of(lanes_, [](const Lane& lane) {
             return !lane.cutting && lane.cut.is_at_end();
           });
  }

  // A new segment, filled; nothing if it will arrive, or cannot be cut.
  std::unique_ptr<Flight> cut(Lane& lane, std::unique_lock<std::mutex>& lock) {
    auto flight = std::make_unique<Flight>();
    flight->segment.lane = lane.number;
    flight->segment.buffer = take_buffer();
    lane.cutting = true;
    ++lane.under_way;
    --left_;
    lock.unlock();
    Status status = lane.cut.next(flight->segment);
    lock.lock();
    lane.cutting = false;
    changed_.notify_one();
    if (!status.ok()) {
      set_error(flight->segment.task, flight->segment.number, std::move(status).error());
      return nullptr;
    }
    lock.unlock();
    flight = start(std::move(flight));
    if (!flight) lock.lock();
    return flight;
  }

  std::unique_ptr<Flight> take_arrived() {
    std::unique_ptr<Flight> flight = std::move(arrived_.front());
    arrived_.pop_front();
    --in_flight_;
    return flight;
  }

  SegmentBuffer take_buffer() {
    SegmentBuffer buffer;
    if (!buffers_.empty()) {
      buffer = std::move(buffers_.back());
      buffers_.pop_back();
    }
    return buffer;
  }

  // Gives it back if it is filled already; otherwise it will arrive.
  std::unique_ptr<Flight> start(std::unique_ptr<Flight> flight) {
    GatherSegment& segment = flight->segment;
    flight->task = segment.task;
    flight->number = segment.number;
    flight->error = lay_out_segment(layouts_, plan_.order().columns(), segment);
    if (flight->error.ok()) flight->error = remote_ ? open_sources(*flight) : read_now(*flight);
    if (!flight->error.ok() || segment.reads.empty() || !remote_) return flight;
    start_reads(std::move(flight));
    return nullptr;
  }

  Status open_sources(Flight& flight) {
    for (const SegmentRead& read : flight.segment.reads) {
      HR_TRY(auto source, plan_.inputs().source(read.shard));
      flight.sources.push_back(std::move(source));
    }
    return {};
  }

  static MutableBytes place(const Flight& flight, const SegmentRead& read) {
    return {flight.segment.buffer.bytes.get() + read.at, read.size};
  }

  // One shard is open at a time: a segment may be of thousands.
  Status read_now(Flight& flight) {
    for (const SegmentRead& read : flight.segment.reads) {
      HR_TRY(const auto source, plan_.inputs().source(read.shard));
      HR_CHECK(source->read_at(read.offset, place(flight, read)));
    }
    return {};
  }

  void start_reads(std::unique_ptr<Flight> owned) {
    {
      const std::lock_guard lock(mutex_);
      ++in_flight_;
    }
    Flight* const flight = owned.release();  // arrive() owns it again
    const size_t reads = flight->segment.reads.size();
    flight->reads_left = reads;
    const uint64_t deadline = ++deadline_;
    for (size_t i = 0; i < reads; ++i) {
      // A copy: with the last answer the flight is gone.
      const SegmentRead read = flight->segment.reads[i];
      const std::shared_ptr<const ByteSource> source = flight->sources[i];
      source->start_read(read.offset, place(*flight, read), deadline,
                         [this, flight](Status status) {
                           if (!status.ok()) {
                             const std::lock_guard lock(flight->mutex);
                             if (flight->error.ok()) flight->error = std::move(status);
                           }
                           if (--flight->reads_left == 0) arrive(std::unique_ptr<Flight>(flight));
                         });
    }
  }

  void arrive(std::unique_ptr<Flight> flight) {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(flight));
    changed_.notify_all();
  }

  Status deliver(GatherSegment segment) {
    HR_CHECK(finish_segment(layouts_, segment));
    segment.packed = pack_run(plan_.container(), segment.bytes());
    const uint64_t task = segment.task;
    const std::shared_ptr<GatheredShard> shard = shard_of(task);
    HR_TRY(const bool finished, shard->add(std::move(segment), [this](GatherSegment written) {
      give_back(std::move(written));
    }));
    if (!finished) return {};
    const std::lock_guard lock(mutex_);
    shards_.erase(task);
    return {};
  }

  std::shared_ptr<GatheredShard> shard_of(uint64_t task) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<GatheredShard>& shard = shards_[task];
    if (!shard)
      shard = std::make_shared<GatheredShard>(plan_, layouts_, store_, publication_, task);
    return shard;
  }

  void give_back(GatherSegment segment) {
    progress_.bytes += segment.used;
    progress_.items += segment.end - segment.begin;
    bool worth_waking = remote_;
    {
      const std::lock_guard lock(mutex_);
      // Not for every segment: waking takes a good part of the time that reading one takes.
      const size_t under_way = --lanes_[segment.lane].under_way;
      worth_waking |= ++left_ == 1 || under_way == kLocalAhead / 2;
      if (segment.buffer.capacity <= 2 * kRemoteSegment)
        buffers_.push_back(std::move(segment.buffer));
    }
    if (worth_waking) changed_.notify_one();
  }

  void fail(uint64_t task, uint64_t number, Error error) {
    const std::lock_guard lock(mutex_);
    set_error(task, number, std::move(error));
  }

  // Segments of a shard are cut in order, so those before a failed one are under way and will be
  // heard.
  void set_error(uint64_t task, uint64_t number, Error error) {
    changed_.notify_all();
    error_.set(task, number, std::move(error));
  }

  const ReshapePlan& plan_;
  Store& store_;
  Publication& publication_;
  Progress& progress_;
  const bool remote_;
  const size_t ahead_;  // segments of a lane that are under way
  const SampleLayouts layouts_;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Lane> lanes_;
  const std::vector<uint64_t> tasks_;
  size_t next_task_ = 0;
  size_t left_;  // segments that may be cut
  std::vector<SegmentBuffer> buffers_;
  size_t in_flight_ = 0;  // of them over a network, arrived_ included
  std::deque<std::unique_ptr<Flight>> arrived_;
  std::map<uint64_t, std::shared_ptr<GatheredShard>> shards_;
  FirstError error_;

  std::atomic<uint64_t> deadline_{0};
};

}  // namespace

Status gather_shards(const ReshapePlan& plan, const GatherOptions& options, Store& store,
                     Publication& publication, std::vector<uint64_t> tasks, Progress& progress) {
  if (tasks.empty()) return {};
  Gather gather(plan, options, store, publication, std::move(tasks), progress);
  HR_CHECK(gather.prepare(options.threads));
  run_on_threads(options.threads, [&] { gather.work(); });
  return gather.result();
}

}  // namespace headrace
