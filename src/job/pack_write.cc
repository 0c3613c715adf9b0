#include "job/pack_write.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "base/first_error.h"
#include "base/parallel.h"
#include "base/try.h"
#include "job/buffer_pool.h"
#include "job/in_order.h"
#include "job/segment.h"
#include "job/shard_object.h"

namespace headrace {
namespace {

// A shard that is being written: takes segments in any order, writes them in theirs.
class ShardWriter {
 public:
  ShardWriter(const PackPlan& plan, Store& store, Publication& publication, uint64_t shard)
      : publication_(publication),
        shard_(shard),
        object_(store, publication.shard_folder() + plan.shards()[shard].name, plan.set().fields,
                plan.container()) {}

  /// Takes a filled segment. Written ones, and those of a spoiled shard, go to `free`. Sets
  /// `*finished` when the shard is complete.
  template <typename Free>
  Status add(Segment segment, const Free& free, bool* finished) {
    const uint64_t number = segment.number;
    HR_TRY(const bool taken, segments_.add(number, std::move(segment), [&](Segment ready) {
      Status status = write(ready);
      if (status.ok() && ready.last) {
        status = finish();
        *finished = true;
      }
      free(std::move(ready));
      return status;
    }));
    if (!taken) free(std::move(segment));  // NOLINT(bugprone-use-after-move): it was left as it is
    return {};
  }

  /// Nothing more is written: the shard will be begun again, and this one never appears.
  template <typename Free>
  void spoil(const Free& free) {
    segments_.drop(free);
  }

  /// Once it is finished.
  const PictureReport& pictures() const { return pictures_; }

 private:
  Status write(Segment& segment) {
    for (SkippedSample& sample : segment.skipped) object_.skip(std::move(sample));
    pictures_.add(segment.pictures);
    return object_.append(segment.bytes(), segment.placed, segment.packed);
  }

  Status finish() {
    HR_TRY(const ShardRecord record, object_.finish());
    return publication_.put_record(shard_, record);
  }

  Publication& publication_;
  const uint64_t shard_;
  InOrder<Segment> segments_;
  ShardObject object_;
  PictureReport pictures_;
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
        pool_(segments_at_once(options, threads), Segment::kBytes,
              Segment::kPiece + Segment::kHeaderRoom) {}

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
      if (status.ok()) segment.packed = pack_run(plan_.container(), segment.bytes());
      if (status.ok())
        status = deliver(*writer, std::move(segment));
      else
        pool_.give(std::move(segment.buffer));
      if (!status.ok()) fail(shard, position, std::move(status).error());
    }
  }

  Status result() {
    if (error_.is_set()) return error_.take();
    if (progress_.stopped() && !cut_.load()) return Progress::interrupted();
    return {};
  }

 private:
  // Decoded pictures may be many times what the plan knows of, and what is measured comes whole
  // however large it is; fewer are under way then.
  static size_t segments_at_once(const PackOptions& options, unsigned threads) {
    const size_t least = threads + 1;
    if (options.pictures.raw || !options.measures.empty()) return least;
    return std::max<size_t>(least, options.memory_bytes / Segment::kWhole);
  }

  std::shared_ptr<ShardWriter> next(Segment& segment) {
    const std::lock_guard lock(mutex_);
    if (error_.is_set()) return nullptr;
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
    error_.set(shard, position, std::move(error));
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
  FirstError error_;
  std::atomic<bool> cut_{false};  // every segment was taken

  BufferPool pool_;
};

}  // namespace

Result<PictureReport> write_shards(const PackPlan& plan, const PackOptions& options, Store& store,
                                   Publication& publication, const std::vector<bool>& done,
                                   Progress& progress) {
  // Over a network they wait for answers most of the time.
  constexpr unsigned kRemoteThreads = 32;
  const unsigned asked = thread_count(options.threads);
  const unsigned threads = plan.sources().are_remote() ? std::max(asked, kRemoteThreads) : asked;
  Run::Done state{.shards = done, .left_out = {}, .pictures = {}};
  while (std::find(state.shards.begin(), state.shards.end(), false) != state.shards.end()) {
    Run run(plan, options, store, publication, state, progress, threads);
    run_on_threads(threads, [&run] { run.work(); });
    HR_CHECK(run.result());
  }
  return state.pictures;
}

}  // namespace headrace
