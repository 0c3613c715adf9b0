// A Ticket is one batch on its way: which rows, where their bytes are, and the slot they go to.
//
//   planned --lay_out--> known sizes --take_slot--> rows being filled by chunks --finish--> Batch
//
// The slot is taken when the first row comes, so that slots which were read last, and may still be
// in a cache, are filled first, and a consumer that is faster than the storage needs few.
// Row i of every column has its place from the beginning, so chunks need no lock and no order.
// Ownership: the engine owns tickets; a ticket owns its slot until the batch takes it.
// Thread-safety: filling different rows from different threads is safe; all else is one thread's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/block_hints.h"
#include "engine/row_filler.h"
#include "engine/row_mixer.h"
#include "engine/row_places.h"
#include "engine/slot_pool.h"
#include "engine/span_fetcher.h"
#include "headrace/batch.h"
#include "headrace/loader.h"

namespace headrace {

class Ticket {
 public:
  /// `total`: rows of the step over all ranks. `digests`: also hash what the rows are made from.
  Ticket(const std::vector<ColumnPlan>& columns, uint64_t epoch, uint64_t step, uint64_t total,
         std::vector<RowOrigin> rows, bool digests, StepPlace place = {}, PackedRows packed = {});

  uint32_t size() const { return static_cast<uint32_t>(rows_.size()); }
  uint64_t step() const { return step_; }
  const RowOrigin& row(uint32_t i) const { return rows_[i]; }
  /// After lay_out: bytes of the slot.
  uint64_t slot_bytes() const { return slot_bytes_; }

  /// Looks up every row's places and gives every row its place in a slot.
  Status lay_out(PlaceFinder& finder);
  /// After lay_out: what a SpanFetcher is asked for; `parts`: one a row.
  RowsToFetch rows_to_fetch(std::span<const BlockPart> parts) const {
    return {.deadline = epoch_ << 32 | step_,
            .rows = rows_,
            .pieces = packed_.pieces,
            .parts = parts,
            .views = views_,
            .places = places_};
  }
  /// The rows are made from these spans, one a place; without this, from their sources.
  void read_from(std::vector<SpanFetcher::Span> spans) { spans_ = std::move(spans); }
  /// Before rows are filled. The first call takes the slot; any thread may make it.
  void take_slot(SlotPool& pool);
  /// After lay_out: the rows' blocks will be read soon.
  void hint(BlockHints& hints, const std::vector<std::shared_ptr<const Dataset>>& sets) const;

  /// Fills row i. An error is kept in the ticket, for `finish`.
  void fill(uint32_t i, RowFiller& filler, const Dataset& set, const RowKey& key);

  /// Call when `rows` more rows are filled; true for whoever filled the last one.
  bool count_down(uint32_t rows) { return rows_left_.fetch_sub(rows) == rows; }

  /// After the last row: assembles columns of unknown size, leaves out failed rows.
  /// Unless OnError::kSkip, the error of the first failed row is the result. Mixes rows if asked
  /// to.
  Result<std::shared_ptr<Batch>> finish(const std::vector<std::shared_ptr<const Dataset>>& sets,
                                        SlotPool& pool, OnError on_error, const RowMixer* mixer);

  /// XXH3 of each delivered row's encoded fields, in the batch's order; empty without digests.
  const std::vector<uint64_t>& digests() const { return digests_; }

 private:
  uint64_t row_bytes(uint32_t row, size_t column) const;
  RowTarget target(uint32_t row, size_t column);
  void note(std::vector<std::pair<uint32_t, Error>>& list, uint32_t row, Error error);
  void list_errors(const std::vector<std::shared_ptr<const Dataset>>& sets, Batch& batch);
  Status assemble(size_t column, SlotPool& pool, std::vector<std::shared_ptr<const Slot>>& slots);
  std::vector<uint32_t> good_rows() const;
  void leave_out_failed_rows();

  const std::vector<ColumnPlan>& columns_;
  const uint64_t epoch_;
  const uint64_t step_;
  const uint64_t total_;
  const StepPlace place_;
  std::vector<RowOrigin> rows_;
  PackedRows packed_;

  std::vector<FieldPlace> places_;                       // rows x columns
  std::vector<SpanFetcher::Span> spans_;                 // the same, or empty
  std::vector<std::shared_ptr<const ShardView>> views_;  // a row
  uint64_t slot_bytes_ = 0;
  std::once_flag slot_taken_;
  std::shared_ptr<const Slot> slot_;
  std::vector<Column> out_;                       // with their places in the slot
  std::vector<std::vector<PendingRow>> pending_;  // a column of unknown size: rows
  std::vector<uint64_t> digests_;
  std::atomic<uint32_t> rows_left_;

  std::mutex errors_mutex_;
  std::vector<std::pair<uint32_t, Error>> errors_;  ///< rows that have failed
  std::vector<std::pair<uint32_t, Error>> grays_;   ///< rows with a picture that became gray
};

}  // namespace headrace
