// Fetches what rows of remote data sets need, ahead of the tickets that fill them.
//
// Whole parts of blocks, when the windows of this rank fit into memory: a part is asked for when
// the first of its rows is planned and stays until the last one is filled.
//
//   steps      t        t+1      t+2        planned ahead while the budget has room
//   parts     [=A=====|========|===]        A is fetched once, for the rows of many steps
//                 [=B=|========|========]
//
// Else only the rows' own bytes, step by step; neighbours come with one request.
//
// Belongs to the planning thread, but for has_room.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/fetched_span.h"
#include "engine/row_places.h"
#include "engine/span_memory.h"
#include "headrace/batch.h"
#include "plan/epoch_lane.h"

namespace headrace {

struct FetchOptions {
  bool whole_parts = false;  ///< or the rows' own bytes alone
  bool ahead = false;  ///< nobody waits yet: many steps at once, and not the first one's rows first
  std::shared_ptr<SpanMemory> memory;  ///< kept from epoch to epoch
};

/// What is known of a step's rows when their bytes are asked for; one entry a row, places: one a
/// row and column.
struct RowsToFetch {
  Deadline deadline = kNow;  ///< rises from step to step, and from epoch to epoch
  std::span<const RowOrigin> rows;
  std::span<const TokenPiece> pieces;  ///< of documents that are packed; or none
  std::span<const BlockPart> parts;
  std::span<const std::shared_ptr<const ShardView>> views;
  std::span<const FieldPlace> places;
};

class SpanFetcher {
 public:
  using Span = std::shared_ptr<const FetchedSpan>;

  SpanFetcher(FetchOptions options, const std::vector<std::shared_ptr<const Dataset>>& sets);

  bool has_room() const { return options_.memory->has_room(); }

  /// Asks for the rows' bytes. `waiter` is told of each read that they wait for. The answer has one
  /// entry a place: the span that holds it; nullptr for fields that are absent or local.
  Result<std::vector<Span>> fetch(const RowsToFetch& rows,
                                  const std::shared_ptr<Countdown>& waiter);

 private:
  struct Part {
    std::shared_ptr<FetchedSpan> span;
    uint32_t rows_left = 0;  ///< not planned yet
    Deadline last_used = kNow;
  };
  struct Wanted;

  std::shared_ptr<FetchedSpan> make_span(std::shared_ptr<const ByteSource> source, uint64_t begin,
                                         uint64_t end);
  /// Whether no later step has the row, too, as one has a document that this one cuts.
  static bool is_last_use(const RowsToFetch& rows, size_t row) {
    return rows.pieces.empty() || rows.pieces[row].ends();
  }
  bool comes_with_its_part(const RowsToFetch& rows, size_t row) const;
  void fetch_part(const RowsToFetch& rows, size_t row, const std::shared_ptr<Countdown>& waiter,
                  std::span<Span> out);
  Status collect_own_bytes(const RowsToFetch& rows, size_t row, std::vector<Wanted>& wanted);
  void fetch_together(std::vector<Wanted>& wanted, Deadline deadline,
                      const std::shared_ptr<Countdown>& waiter, std::span<Span> out);
  void want_rest_of_first_parts(Deadline deadline);
  void drop_unused();

  const FetchOptions options_;
  const std::vector<std::shared_ptr<const Dataset>>& sets_;
  std::unordered_map<uint64_t, Part> parts_;  // by shard of set and first sample
  uint64_t steps_fetched_ = 0;
};

}  // namespace headrace
