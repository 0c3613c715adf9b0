#include "job/pack_write.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/digest.h"
#include "base/try.h"
#include "format/shard_index.h"
#include "format/tar_writer.h"
#include "job/fault_point.h"
#include "job/segment.h"
#include "plan/shard_table.h"

namespace headrace {
namespace {

// A shard that is being written: takes segments in any order, writes them in theirs.
class ShardWriter {
 public:
  ShardWriter(const PackPlan& plan, Store& store, Publication& publication, uint64_t shard)
      : plan_(plan),
        store_(store),
        publication_(publication),
        shard_(shard),
        summaries_(plan.set().fields.size()) {}

  /// Takes a filled segment and writes all that can be written now, unless another thread is at it.
  /// Written segments go to `free`. Sets `*finished` when the shard is complete.
  template <typename Free>
  Status add(Segment segment, const Free& free, bool* finished) {
    std::unique_lock lock(mutex_);
    if (spoiled_) {
      free(std::move(segment));
      return {};
    }
    waiting_.emplace(segment.number, std::move(segment));
    if (writing_) return {};
    writing_ = true;
    while (!spoiled_ && !waiting_.empty() && waiting_.begin()->first == next_) {
      Segment ready = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      ++next_;
      lock.unlock();
      Status status = write(ready);
      if (status.ok() && ready.last) {
        status = finish();
        *finished = true;
      }
      free(std::move(ready));
      HR_CHECK(std::move(status));  // writing_ stays: nobody goes on with this shard
      lock.lock();
    }
    writing_ = false;
    return {};
  }

  /// Nothing more is written: the shard will be begun again, and this one never appears.
  template <typename Free>
  void spoil(const Free& free) {
    const std::lock_guard lock(mutex_);
    spoiled_ = true;
    for (auto& [number, segment] : waiting_) free(std::move(segment));
    waiting_.clear();
  }

  /// Once it is finished.
  const PictureReport& pictures() const { return pictures_; }

 private:
  Status write(Segment& segment) {
    if (!sink_) {
      record_.name = publication_.shard_folder() + plan_.shards()[shard_].name;
      HR_TRY(sink_, store_.create(record_.name));
    }
    for (const PlacedMember& placed : segment.placed) add_member(placed);
    for (SkippedSample& sample : segment.skipped) record_.skip(std::move(sample));
    pictures_.add(segment.pictures);
    return append({segment.buffer.bytes.get(), segment.used});
  }

  // Before the segment's bytes are counted into record_.bytes.
  void add_member(const PlacedMember& placed) {
    const SampleEntry& sample = plan_.sample_at(placed.position);
    const SampleMember& member = plan_.member(sample, placed.member);
    const uint64_t size = placed.size;
    const uint64_t data = record_.bytes + placed.data;
    const std::string& field = plan_.set().fields[member.field];
    if (placed.member == 0)
      builder_.add_sample(plan_.set().key(sample), record_.bytes + placed.header);
    builder_.add_member(field, data, size);
    if (placed.member + 1 == sample.members) builder_.end_sample(data + size + tar_padding(size));
    FieldSummary& summary = summaries_[member.field];
    summary.min_bytes = summary.count == 0 ? size : std::min(summary.min_bytes, size);
    summary.max_bytes = std::max(summary.max_bytes, size);
    summary.bytes += size;
    ++summary.count;
  }

  Status append(ByteView bytes) {
    digest_.update(bytes);
    record_.bytes += bytes.size();
    return sink_->append(bytes);
  }

  Status finish() {
    std::string end;
    append_tar_end(end);
    HR_CHECK(append(as_bytes(end)));
    record_.xxh3 = digest_.digest();
    record_.samples = builder_.size();
    record_.block_samples = default_block_samples(record_.samples, record_.bytes);
    record_.section = builder_.encode();
    for (size_t field = 0; field < summaries_.size(); ++field) {
      if (summaries_[field].count == 0) continue;
      summaries_[field].name = plan_.set().fields[field];
      merge_fields(record_.fields, {summaries_[field]});
    }
    fault_point("shard_written");
    HR_CHECK(sink_->commit());
    sink_.reset();
    fault_point("shard_committed");
    return publication_.put_record(shard_, record_);
  }

  const PackPlan& plan_;
  Store& store_;
  Publication& publication_;
  const uint64_t shard_;

  std::mutex mutex_;
  std::map<uint64_t, Segment> waiting_;
  uint64_t next_ = 0;
  bool writing_ = false;
  bool spoiled_ = false;

  std::unique_ptr<ByteSink> sink_;
  Xxh3Stream digest_;
  ShardIndexBuilder builder_;
  std::vector<FieldSummary> summaries_;  // by number of the field
  ShardRecord record_;
  PictureReport pictures_;
};

// Bounds the segments under way, and keeps their buffers.
class Pool {
 public:
  explicit Pool(size_t segments) : left_(segments) {}

  /// Waits for a buffer; an empty one once the pool is closed.
  SegmentBuffer take() {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [this] { return closed_ || left_ > 0; });
    if (closed_) return {};
    --left_;
    SegmentBuffer buffer;
    if (!free_.empty()) {
      buffer = std::move(free_.back());
      free_.pop_back();
    }
    buffer.reserve(Segment::kBytes);
    return buffer;
  }

  void give(SegmentBuffer buffer) {
    {
      const std::lock_guard lock(mutex_);
      ++left_;
      if (buffer.capacity <= Segment::kPiece + Segment::kHeaderRoom)
        free_.push_back(std::move(buffer));
    }
    given_back_.notify_one();
  }

  /// After an error: segments that wait for the failed one keep their buffers.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    given_back_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<SegmentBuffer> free_;
  size_t left_;
  bool closed_ = false;
};

// Writes every shard that is not done. A shard that was spoiled (a sample of several segments broke
// while its first ones were being written) is read on, so that all that has to be left out of it is
// known, and is written again by the next Run.
class Run {
 public:
  struct Done {
    std::vector<bool> shards;
    LeftOut left_out;
    PictureReport pictures;
  };

  /// `done` says what is left to do, and is kept up to date.
  Run(const PackPlan& plan, const PackOptions& options, Store& store, Publication& publication,
      Done& done, Progress& progress, unsigned threads)
      : plan_(plan),
        skip_(options.on_error == OnBadSample::kSkip),
        store_(store),
        publication_(publication),
        progress_(progress),
        done_(done),
        begun_(done.shards),
        left_out_(done.left_out),
        cutter_(plan, begun_, left_out_, skip_),
        pool_(segments_at_once(options, threads)) {}

  void work() {
    auto reader = SegmentReader::make(plan_, skip_);
    if (!reader.ok()) return fail(0, 0, std::move(reader).error());
    while (!progress_.stopped()) {
      // The buffer first, then the segment: whoever holds a segment can always finish it.
      Segment segment;
      segment.buffer = pool_.take();
      if (!segment.buffer) return;
      std::shared_ptr<ShardWriter> writer = next(segment);
      if (!writer) return pool_.give(std::move(segment.buffer));
      const uint64_t shard = segment.shard;
      const uint64_t position = segment.from.position;
      Status status = reader->fill(segment);
      if (status.ok() && segment.spoiled) spoil(*writer, *std::move(segment.spoiled));
      if (status.ok())
        status = deliver(*writer, std::move(segment));
      else
        pool_.give(std::move(segment.buffer));
      if (!status.ok()) fail(shard, position, std::move(status).error());
    }
  }

  Status result() {
    if (error_) return std::move(*error_);
    if (progress_.stopped() && !cut_.load()) return Progress::interrupted();
    return {};
  }

 private:
  // Decoded pictures may be many times what the plan knows of; fewer are under way then.
  static size_t segments_at_once(const PackOptions& options, unsigned threads) {
    const size_t least = threads + 1;
    if (options.pictures.raw) return least;
    return std::max<size_t>(least, options.memory_bytes / Segment::kWhole);
  }

  std::shared_ptr<ShardWriter> next(Segment& segment) {
    const std::lock_guard lock(mutex_);
    if (error_) return nullptr;
    if (!cutter_.next(segment)) {
      cut_ = true;
      return nullptr;
    }
    std::shared_ptr<ShardWriter>& writer = writers_[segment.shard];
    if (!writer) writer = std::make_shared<ShardWriter>(plan_, store_, publication_, segment.shard);
    return writer;
  }

  Status deliver(ShardWriter& writer, Segment segment) {
    const uint64_t shard = segment.shard;
    bool finished = false;
    Status status = writer.add(
        std::move(segment), [this](Segment written) { free(std::move(written)); }, &finished);
    if (finished) {
      const std::lock_guard lock(mutex_);
      done_.shards[shard] = true;
      done_.pictures.add(writer.pictures());
      writers_.erase(shard);
    }
    return status;
  }

  void spoil(ShardWriter& writer, LeftOut::value_type sample) {
    writer.spoil([this](Segment dropped) { free(std::move(dropped)); });
    const std::lock_guard lock(mutex_);
    done_.left_out.insert(std::move(sample));
  }

  void free(Segment segment) {
    progress_.bytes += segment.planned;
    progress_.items += segment.to.position - segment.from.position;
    pool_.give(std::move(segment.buffer));
  }

  // Segments are taken in order, so those before a failed one are under way and will be heard.
  void fail(uint64_t shard, uint64_t position, Error error) {
    pool_.close();
    const std::lock_guard lock(mutex_);
    if (error_ && std::pair(shard, position) >= failed_at_) return;
    failed_at_ = {shard, position};
    error_ = std::move(error);
  }

  const PackPlan& plan_;
  const bool skip_;
  Store& store_;
  Publication& publication_;
  Progress& progress_;

  std::mutex mutex_;  // of what follows
  Done& done_;
  const std::vector<bool> begun_;  // as it was when the run began, for the cutter
  const LeftOut left_out_;
  SegmentCutter cutter_;
  std::map<uint64_t, std::shared_ptr<ShardWriter>> writers_;
  std::optional<Error> error_;
  std::pair<uint64_t, uint64_t> failed_at_;
  std::atomic<bool> cut_{false};  // every segment was taken

  Pool pool_;
};

}  // namespace

Result<PictureReport> write_shards(const PackPlan& plan, const PackOptions& options, Store& store,
                                   Publication& publication, const std::vector<bool>& done,
                                   Progress& progress) {
  const unsigned threads =
      options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  Run::Done state{.shards = done, .left_out = {}, .pictures = {}};
  while (std::find(state.shards.begin(), state.shards.end(), false) != state.shards.end()) {
    Run run(plan, options, store, publication, state, progress, threads);
    {
      std::vector<std::jthread> pool;
      for (unsigned t = 1; t < threads; ++t) pool.emplace_back([&run] { run.work(); });
      run.work();
    }
    HR_CHECK(run.result());
  }
  return state.pictures;
}

}  // namespace headrace
