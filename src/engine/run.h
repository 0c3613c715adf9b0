// A Run makes the batches of one epoch, from some step to its end.
//
//              tickets in flight
//    consumed  | finished | rows being filled by chunks | planned ahead |
//   -----------+----------+-----------------------------+---------------+----> steps
//              ^ next()                                 |               ^ one thread plans at a
//              time
//              |<-- admitted: at most `depth`, and ---->|
//                   `memory_bytes` of slots
//
// Threads take the most urgent work: a chunk of the lowest ticket, or, while there is room, the
// planning of the next ticket. Of remote data sets many steps are planned ahead, and their bytes
// are asked for then; the rows of a ticket become work when it is admitted and all its bytes are
// there. Files are read as their rows are filled, and nothing is planned ahead. The thread that
// fills a ticket's last row finishes it. There is no queue a stage and no reorder buffer; a batch
// is taken by its number. A plan that needs the indexes of several shards has them loaded by all
// threads (errands), since the first batch waits for them.
//
// Ownership: the run owns its threads and tickets; batches own their slots and outlive it.
// Thread-safety: one consumer calls `next`; `stop` may come from any thread.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/row_mixer.h"
#include "engine/ticket.h"
#include "engine/timers.h"
#include "headrace/loader.h"

namespace headrace {

/// The rows of one step on this rank, as the plan gives them.
struct StepRows {
  uint64_t step = 0;
  uint64_t total = 0;  ///< over all ranks
  StepPlace place;
  std::vector<RowOrigin> rows;
  /// One a row, if FetchOptions::whole_parts. Count 0: do not read the part for this row's sake.
  std::vector<BlockPart> parts;
  PackedRows packed;
};

struct RunOptions {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t steps = 0;  ///< steps of this run
  /// Rows of step i of this run, 0 <= i < steps. Called by one thread at a time, in order.
  std::function<Result<StepRows>(uint64_t)> plan;
  unsigned threads = 1;
  unsigned depth = 4;  ///< tickets in flight
  uint64_t memory_bytes = 0;
  OnError on_error = OnError::kRaise;
  bool digests = false;
  std::optional<RowMixer> mixer = {};
  std::optional<FetchOptions> fetch = {};  ///< of remote data sets
};

/// A finished batch, and the contents' digests if they were asked for.
struct RunBatch {
  std::shared_ptr<Batch> batch;
  std::vector<uint64_t> digests;
};

class Run {
 public:
  /// Starts the threads. The referenced objects outlive the run.
  Run(RunOptions options, const std::vector<std::shared_ptr<const Dataset>>& sets,
      const std::vector<ColumnPlan>& columns, const std::vector<FieldSpec>& fields, SlotPool& pool,
      Timers& timers);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// The next batch; a null batch after the last one. `interrupted` is asked every few hundredths
  /// of a second while waiting. An error ends the run: it comes again.
  Result<RunBatch> next(const std::function<bool()>& interrupted);
  void stop();

  /// Makes the first batch before next() is called; the others are begun then.
  void make_first();

  /// Whether bytes come over a network.
  bool is_remote() const { return spans_.has_value(); }
  /// Whether all steps are planned; all remote bytes are asked for then.
  bool has_planned_all() const;
  /// Whether so little of the epoch is left that the first batch of the next may be made meanwhile,
  /// within the same budgets.
  bool has_room_for_next() const;

  /// Whether this process is a fork of the one that started the threads. They are not here, so such
  /// a run can be neither used nor destroyed.
  bool forked() const;

 private:
  struct InFlight;
  struct Chunk {
    InFlight* ticket;
    uint32_t begin, end;
  };

  /// A shard's index to be loaded for the plan that is being made.
  struct Errand {
    PlaceFinder::ShardOfSet shard;
    std::shared_ptr<const ShardView>* view;  ///< left empty by an error: planning meets it again
  };

  void work();
  void run_errand(std::unique_lock<std::mutex>& lock);
  void load_views(std::span<const RowOrigin> rows);
  bool may_plan() const;
  void plan_next(std::unique_lock<std::mutex>& lock);
  Status plan_step(InFlight& ticket);
  Status fetch(InFlight& ticket, std::span<const BlockPart> parts);
  void fetched(InFlight& ticket);
  void admit();
  void put_chunks(InFlight& ticket);
  void fill_chunk(Chunk chunk, RowFiller& filler);
  void finish(InFlight& ticket);
  void publish(InFlight& ticket, Result<RunBatch> result);
  uint32_t chunk_rows(uint32_t rows) const;

  const RunOptions options_;
  const std::vector<std::shared_ptr<const Dataset>>& sets_;
  const std::vector<ColumnPlan>& columns_;
  SlotPool& pool_;
  Timers& timers_;
  PlaceFinder finder_;                // used by the planning thread only
  std::optional<SpanFetcher> spans_;  // the same, but for has_room()
  BlockHints hints_;
  const pid_t pid_;

  mutable std::mutex mutex_;
  std::condition_variable work_ready_;
  std::condition_variable batch_ready_;
  std::condition_variable errands_done_;
  std::deque<std::unique_ptr<InFlight>> tickets_;  // consecutive steps; front: the next to hand out
  std::deque<Chunk> chunks_;                       // lowest ticket first
  std::deque<Errand> errands_;                     // not begun
  size_t errands_left_ = 0;                        // not done
  uint64_t planned_ = 0;                           // steps
  uint64_t slot_bytes_ = 0;                        // of the tickets in flight
  size_t admitted_ = 0;                            // tickets that may have slots, from the front
  bool planning_ = false;
  bool begun_ = false;        // next() was called
  bool makes_first_ = false;  // the first batch is made before that
  bool stopped_ = false;
  std::optional<Error> failed_;

  /// How reads under way find this run, as long as it is there.
  struct Gate {
    std::mutex mutex;
    Run* run = nullptr;
  };
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();

  std::stop_source stop_;                          // of the threads: reads of indexes end early
  std::atomic<uint64_t> row_nanoseconds_{20'000};  // a guess, then a moving average
  std::vector<std::thread> threads_;
};

}  // namespace headrace
