// The Loader turns data sets into batches: every sample exactly once an epoch, in an order that is
// a pure function of the seed, on any number of ranks, resumable after any batch.
//
// The order is known, so loading is scheduling: threads decide only when a row is filled, never
// which row it is. One pool of threads fills the rows of the next batches straight into their
// places; the consumer takes finished batches by number. See docs/architecture.md.
//
// Thread-safety: one thread consumes (`next`, `load_state`, `set_epoch`, `rewind`); `stats`, `stop`
// and the const methods may be called from any thread. Threads start at the first `next` and end
// with the loader. A loader that has started must not be used after fork(): it says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/batch.h"
#include "headrace/dataset.h"
#include "headrace/field.h"
#include "headrace/mix_rows.h"
#include "headrace/order.h"
#include "headrace/result.h"

namespace headrace {

/// What becomes of a row that cannot be read or decoded: the error is raised, the row is left out,
/// or a picture becomes gray (and every other row that fails raises).
enum class OnError { kRaise, kSkip, kGray };

struct LoaderOptions {
  std::vector<std::shared_ptr<const Dataset>> sets;  ///< one, or a mixture
  std::vector<double> weights;                       ///< of a mixture; empty for one set
  uint64_t mixture_steps = 0;  ///< steps an epoch of a mixture; 0: until the longest set ends

  bool shuffle = false;
  uint64_t seed = 0;
  uint64_t lanes = 0;  ///< 0: chosen from world and batch
  uint64_t window_bytes = uint64_t{32} << 20;
  Tail tail = Tail::kPad;
  uint64_t bucket_steps = 0;  ///< see OrderOptions; needs shuffle
  std::string bucket_by;      ///< fields, tried in this order, as "txt;json", or "jpg:pixels"
  uint64_t pack_length = 0;   ///< tokens of a row that samples, documents, are packed into; 0: none
  std::string pack_by;        ///< what says how many each has, as "npy:tokens"

  uint64_t rows = 0;   ///< a rank; or
  uint64_t total = 0;  ///< over all ranks. One of them is not 0.
  uint32_t rank = 0;
  uint32_t world = 1;
  /// Inside a worker process: of the rank's steps, counted from where this epoch began or the
  /// loaded state went on, this loader takes number worker, worker + workers, …
  uint32_t worker = 0;
  uint32_t workers = 1;

  std::optional<MixRows> mix;                 ///< mixup and cutmix
  std::vector<FieldSpec> fields;              ///< empty: every field of the data set as bytes
  unsigned threads = 0;                       ///< that decode and copy; 0: processors, at most 16
  uint64_t memory_bytes = uint64_t{1} << 30;  ///< for batches in flight; as much again for bytes
                                              ///< of remote data sets that are fetched ahead
  unsigned prefetch = 0;                      ///< batches ahead; 0: as memory allows, 2 to 8
  OnError on_error = OnError::kRaise;
  uint64_t max_errors = 100;   ///< an epoch, before skip and gray turn into raise
  std::string audit_folder;    ///< where to write the audit; empty: none
  bool shared_memory = false;  ///< batches lie in memory that other processes can map
};

/// What the loader did and what limits it. Seconds are summed over threads.
struct LoaderStats {
  uint64_t batches = 0;
  uint64_t rows = 0;
  uint64_t bytes_read = 0;
  uint64_t read_calls = 0;
  uint64_t rows_skipped = 0;
  uint64_t slots = 0;        ///< in the pool
  uint64_t slots_grown = 0;  ///< because the consumer kept batches
  uint64_t slot_bytes = 0;   ///< of the whole pool
  double seconds = 0;        ///< since the first batch was asked for
  double plan_seconds = 0;   ///< planning steps and looking up places
  double read_seconds = 0;
  double decode_seconds = 0;
  double idle_seconds = 0;      ///< threads that waited for work because batches were ready
  double consumer_seconds = 0;  ///< the consumer waited for a batch
  std::string limit;            ///< storage, network, decode, consumer, plan or memory
  std::string sentence;         ///< what limits the run and what to change
};

class Loader {
 public:
  /// Checks the options against the data sets; reads no sample. Documents that are packed: reads
  /// the index of every shard, with all threads.
  static Result<std::unique_ptr<Loader>> create(LoaderOptions options);

  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Steps of this rank in a whole epoch, the same on all ranks (inside a worker: its share).
  uint64_t steps() const;
  /// Samples that this configuration drops or repeats an epoch, over all ranks, in one sentence.
  std::string tail_sentence() const;
  /// What the order costs on this world: lanes, window, extra reads; lines of text.
  std::string explain() const;

  /// What was drawn for the row at a position of an epoch, as JSON: for each column of pictures its
  /// operations, for mixed rows the share and the partner's position.
  Result<std::string> explain(uint64_t epoch, uint64_t position) const;
  /// That row once more, as a batch of one row; neither mixed nor packed with others. Needs no
  /// running epoch.
  Result<std::shared_ptr<const Batch>> row_at(uint64_t epoch, uint64_t position) const;

  /// The next batch, or nullptr at the end of the epoch (the following call starts the next one).
  /// An error is final for this epoch. Blocks; `stop` or `interrupted` (asked now and then) end it.
  Result<std::shared_ptr<const Batch>> next(const std::function<bool()>& interrupted = {});

  /// Starts the current epoch again, from its first batch or, after `load_state`, from there.
  Status rewind();
  /// Passes over this loader's next `steps` steps without reading them.
  Status skip(uint64_t steps);
  Status set_epoch(uint64_t epoch);
  uint64_t epoch() const;

  /// The state after the last batch handed out, as JSON; the same on all ranks.
  std::string state() const;
  /// The state before step `step` of `epoch`, as pure arithmetic.
  Result<std::string> state_at(uint64_t epoch, uint64_t step) const;
  /// Goes on from `json`. `total` not 0 asks for another global batch.
  Status load_state(const std::string& json, uint64_t total = 0);
  /// Digest of the options and the data: must agree on all ranks.
  std::string agreement() const;

  /// Batches that are made from now on lie in memory that is page-locked for a CUDA device, given
  /// by its ordinal, which copies faster from it and by itself. A driver that refuses is noted.
  void page_lock(int device);

  LoaderStats stats() const;
  /// Ends the threads; `next` answers Code::kInterrupted from now on. Idempotent.
  void stop();

 private:
  class Impl;
  explicit Loader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace
