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
#include "headrace/batch.h"
#include "plan/epoch_lane.h"

namespace headrace {

/// Memory of spans, kept from epoch to epoch: fresh pages cost as much as copying into them.
/// Thread-safe.
class SpanMemory {
 public:
  explicit SpanMemory(uint64_t bytes);

  std::shared_ptr<FetchedSpan> make_span(std::shared_ptr<const ByteSource> source, uint64_t begin,
                                         uint64_t end);
  /// Of the spans that live.
  uint64_t resident_bytes() const { return *resident_; }

 private:
  SlotPool pool_;
  const FetchedSpan::Resident resident_ = std::make_shared<std::atomic<uint64_t>>(0);
};

struct FetchOptions {
  uint64_t memory_bytes = 0;           ///< for spans
  bool whole_parts = false;            ///< or the rows' own bytes alone
  std::shared_ptr<SpanMemory> memory;  ///< where spans are
};

/// What is known of a step's rows when their bytes are asked for; one entry a row, places: one a
/// row and column.
struct RowsToFetch {
  uint64_t step = 0;
  std::span<const RowOrigin> rows;
  std::span<const BlockPart> parts;
  std::span<const std::shared_ptr<const ShardView>> views;
  std::span<const FieldPlace> places;
};

class SpanFetcher {
 public:
  using Span = std::shared_ptr<const FetchedSpan>;

  SpanFetcher(FetchOptions options, const std::vector<std::shared_ptr<const Dataset>>& sets);

  bool has_room() const { return options_.memory->resident_bytes() < options_.memory_bytes; }

  /// Asks for the rows' bytes. `waiter` is told of each read that they wait for. The answer has one
  /// entry a place: the span that holds it; nullptr for fields that are absent or local.
  Result<std::vector<Span>> fetch(const RowsToFetch& rows,
                                  const std::shared_ptr<Countdown>& waiter);

 private:
  struct Part {
    std::shared_ptr<FetchedSpan> span;
    uint32_t rows_left = 0;  ///< not planned yet
    uint64_t last_step = 0;
  };
  struct Wanted;

  bool comes_with_its_part(const RowsToFetch& rows, size_t row) const;
  void fetch_part(const RowsToFetch& rows, size_t row, const std::shared_ptr<Countdown>& waiter,
                  std::span<Span> out);
  Status collect_own_bytes(const RowsToFetch& rows, size_t row, std::vector<Wanted>& wanted);
  void fetch_together(std::vector<Wanted>& wanted, uint64_t step,
                      const std::shared_ptr<Countdown>& waiter, std::span<Span> out);
  void end_of_first_steps(uint64_t step);
  void drop_unused();

  const FetchOptions options_;
  const std::vector<std::shared_ptr<const Dataset>>& sets_;
  std::unordered_map<uint64_t, Part> parts_;  // by shard of set and first sample
  uint64_t steps_fetched_ = 0;
};

}  // namespace headrace
