#include "engine/ticket.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/try.h"

namespace headrace {
namespace {

constexpr uint64_t kAlignment = 64;  // of columns in a slot: a cache line, and what DLPack asks for

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool is_dynamic(const ColumnPlan& column) {
  return column.decoder->row_shape().kind == RowShape::Kind::kDynamic;
}

int64_t elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// A column for `rows` rows, without memory yet.
Column empty_column(const ColumnPlan& plan, uint32_t rows) {
  const RowShape& row = plan.decoder->row_shape();
  Column column;
  column.name = plan.spec.name;
  column.dtype = row.dtype.value_or(DType::u8);
  column.ragged = row.kind != RowShape::Kind::kFixed;
  if (column.ragged) {
    column.offsets.assign(rows + size_t{1}, 0);
    column.shape = {0};
  } else {
    column.shape = row.shape;
    column.shape.insert(column.shape.begin(), rows);
  }
  return column;
}

uint64_t column_bytes(const Column& column) {
  return static_cast<uint64_t>(elements(column.shape)) * dtype_size(column.dtype);
}

}  // namespace

Ticket::Ticket(const std::vector<ColumnPlan>& columns, uint64_t epoch, uint64_t step,
               uint64_t total, std::vector<RowOrigin> rows, bool digests, StepPlace place,
               PackedRows packed)
    : columns_(columns),
      epoch_(epoch),
      step_(step),
      total_(total),
      place_(place),
      rows_(std::move(rows)),
      packed_(std::move(packed)),
      places_(rows_.size() * columns.size()),
      views_(rows_.size()),
      pending_(columns.size()),
      digests_(digests ? rows_.size() : 0),
      rows_left_(static_cast<uint32_t>(rows_.size())) {}

Status Ticket::lay_out(PlaceFinder& finder) {
  const size_t width = columns_.size();
  for (uint32_t i = 0; i < size(); ++i) {
    HR_TRY(views_[i], finder.find(rows_[i], std::span(places_).subspan(i * width, width)));
  }
  for (size_t c = 0; c < width; ++c) {
    Column& column = out_.emplace_back(empty_column(columns_[c], size()));
    pending_[c].resize(is_dynamic(columns_[c]) ? size() : 0);
    if (column.ragged) {  // encoded rows: their sizes are in the index
      for (uint32_t i = 0; i < size(); ++i)
        column.offsets[i + 1] = column.offsets[i] + static_cast<int64_t>(row_bytes(i, c));
      column.shape = {column.offsets.back()};
    }
    slot_bytes_ = aligned(slot_bytes_ + column_bytes(column));
  }
  return {};
}

void Ticket::take_slot(SlotPool& pool) {
  std::call_once(slot_taken_, [&] {
    slot_ = pool.take(slot_bytes_);
    uint64_t begin = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      Column& column = out_[c];
      column.data = slot_->memory.subspan(begin, column_bytes(column));
      begin = aligned(begin + column_bytes(column));
      for (uint32_t i = 0; i < pending_[c].size(); ++i)
        pending_[c][i].reserved =
            column.data.subspan(static_cast<size_t>(column.offsets[i]), row_bytes(i, c));
    }
  });
}

/// Of a ragged column: bytes of a row, a guess where only decoding tells.
uint64_t Ticket::row_bytes(uint32_t row, size_t column) const {
  const FieldPlace& place = places_[row * columns_.size() + column];
  const auto& fallback = columns_[column].spec.fallback;
  const uint64_t encoded = !place.absent() ? place.size : fallback ? fallback->size() : 0;
  return is_dynamic(columns_[column]) ? columns_[column].decoder->expected_bytes(encoded) : encoded;
}

void Ticket::hint(BlockHints& hints,
                  const std::vector<std::shared_ptr<const Dataset>>& sets) const {
  for (uint32_t i = 0; i < size(); ++i)
    hints.row_will_be_read(*sets[rows_[i].set], rows_[i], *views_[i]);
}

RowTarget Ticket::target(uint32_t row, size_t c) {
  if (is_dynamic(columns_[c])) return {.pending = &pending_[c][row]};
  Column& column = out_[c];
  if (column.ragged) {
    const auto begin = static_cast<size_t>(column.offsets[row]);
    return {.bytes =
                column.data.subspan(begin, static_cast<size_t>(column.offsets[row + 1]) - begin)};
  }
  const size_t bytes = column.data.size() / size();
  return {.bytes = column.data.subspan(row * bytes, bytes)};
}

void Ticket::fill(uint32_t i, RowFiller& filler, const Dataset& set, const RowKey& key) {
  thread_local std::vector<RowTarget> targets;
  targets.clear();
  for (size_t c = 0; c < columns_.size(); ++c) targets.push_back(target(i, c));
  const size_t width = columns_.size();
  const auto places = std::span(places_).subspan(i * width, width);
  std::span<const SpanFetcher::Span> fetched;
  if (!spans_.empty()) fetched = std::span(spans_).subspan(i * width, width);
  std::optional<Error> gray;
  auto status = filler.fill(set, rows_[i].id.shard, *views_[i], places, fetched, key, targets,
                            digests_.empty() ? nullptr : &digests_[i], gray);
  if (!status.ok()) {
    note(errors_, i, std::move(status).error());
  } else if (gray) {
    note(grays_, i, std::move(*gray));
  }
}

void Ticket::note(std::vector<std::pair<uint32_t, Error>>& list, uint32_t row, Error error) {
  std::scoped_lock lock(errors_mutex_);
  list.emplace_back(row, std::move(error));
}

/// Failed rows and gray ones, in the order of their rows.
void Ticket::list_errors(const std::vector<std::shared_ptr<const Dataset>>& sets, Batch& batch) {
  auto all = errors_;
  all.insert(all.end(), grays_.begin(), grays_.end());
  std::ranges::sort(all, {}, &std::pair<uint32_t, Error>::first);
  for (auto& [row, error] : all)
    batch.errors.push_back(
        {rows_[row], std::move(error).at(sets[rows_[row].set]->origin(rows_[row].id))});
}

Result<std::shared_ptr<Batch>> Ticket::finish(
    const std::vector<std::shared_ptr<const Dataset>>& sets, SlotPool& pool, OnError on_error,
    const RowMixer* mixer) {
  spans_.clear();
  std::ranges::sort(errors_, {}, &std::pair<uint32_t, Error>::first);
  if (!errors_.empty() && on_error != OnError::kSkip) {
    const RowOrigin& origin = rows_[errors_.front().first];
    return std::move(errors_.front().second).at(sets[origin.set]->origin(origin.id));
  }
  auto batch = std::make_shared<Batch>();
  list_errors(sets, *batch);
  const std::vector<uint32_t> original = good_rows();
  if (!errors_.empty()) leave_out_failed_rows();

  take_slot(pool);  // a step without rows has one, too
  auto slots = std::make_shared<std::vector<std::shared_ptr<const Slot>>>();
  slots->push_back(slot_);
  for (size_t c = 0; c < columns_.size(); ++c)
    if (is_dynamic(columns_[c])) HR_CHECK(assemble(c, pool, *slots));

  batch->epoch = epoch_;
  batch->step = step_;
  batch->total = total_;
  batch->columns = std::move(out_);
  batch->rows = std::move(rows_);
  batch->packed = std::move(packed_);
  if (mixer != nullptr) HR_CHECK(mixer->mix(*batch, place_, original, pool, *slots));
  for (const auto& slot : *slots)
    if (slot->descriptor >= 0)
      batch->shared.push_back({slot->id, slot->descriptor, ByteView(slot->memory)});
  batch->slot = std::move(slots);
  return batch;
}

/// The numbers of the rows that did not fail.
std::vector<uint32_t> Ticket::good_rows() const {
  std::vector<uint32_t> good;
  auto failed = errors_.begin();
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    while (failed != errors_.end() && failed->first < i) ++failed;
    if (failed == errors_.end() || failed->first != i) good.push_back(i);
  }
  return good;
}

/// Moves the rows behind a failed one up, in every column.
void Ticket::leave_out_failed_rows() {
  std::vector<bool> failed(rows_.size());
  for (const auto& error : errors_) failed[error.first] = true;
  uint32_t kept = 0;
  std::vector<int64_t> ends(columns_.size(), 0);  // ragged: elements kept
  for (uint32_t i = 0; i < failed.size(); ++i) {
    if (failed[i]) continue;
    for (size_t c = 0; c < columns_.size(); ++c) {
      Column& column = out_[c];
      if (is_dynamic(columns_[c])) {
        if (kept != i) pending_[c][kept] = std::move(pending_[c][i]);
      } else if (column.ragged) {
        const int64_t begin = column.offsets[i], end = column.offsets[i + 1];
        std::memmove(column.data.data() + ends[c], column.data.data() + begin,
                     static_cast<size_t>(end - begin));
        column.offsets[kept] = ends[c];
        ends[c] += end - begin;
      } else {
        const size_t bytes = column.data.size() / failed.size();
        std::memmove(column.data.data() + kept * bytes, column.data.data() + i * bytes, bytes);
      }
    }
    rows_[kept] = rows_[i];
    if (!packed_.pieces.empty()) packed_.pieces[kept] = packed_.pieces[i];
    if (!digests_.empty()) digests_[kept] = digests_[i];
    ++kept;
  }
  rows_.resize(kept);
  if (!packed_.pieces.empty()) packed_.pieces.resize(kept);
  if (!digests_.empty()) digests_.resize(kept);
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = out_[c];
    if (is_dynamic(columns_[c])) {
      pending_[c].resize(kept);
      column.offsets.assign(kept + size_t{1}, 0);
    } else if (column.ragged) {
      column.offsets.resize(kept + size_t{1});
      column.offsets[kept] = ends[c];
      column.shape = {ends[c]};
      column.data = column.data.first(static_cast<size_t>(ends[c]));
    } else {
      column.shape[0] = kept;
      column.data = column.data.first(column_bytes(column));
    }
  }
}

namespace {

/// Whether a row that was decoded into its place has it where the rows before it end.
bool reserved_at(const Column& column, const PendingRow& row, uint64_t bytes) {
  return row.bytes.empty() || row.bytes.data() == column.data.data() + bytes;
}

}  // namespace

/// Rows of equal type and shape become one array; rows that differ in shape a ragged column. Where
/// all were decoded into the places kept for them, nothing is moved.
Status Ticket::assemble(size_t c, SlotPool& pool, std::vector<std::shared_ptr<const Slot>>& slots) {
  const std::vector<PendingRow>& rows = pending_[c];
  Column& column = out_[c];
  if (rows.empty()) {
    column.shape = {0};
    column.data = {};
    return {};
  }
  const PendingRow& first = rows.front();
  uint64_t bytes = 0;
  bool equal = !columns_[c].decoder->row_shape().ragged, in_place = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].dtype != first.dtype || rows[i].shape.size() != first.shape.size())
      return Error{
          .code = Code::kCorrupt,
          .message = "column '" + column.name + "' has rows of " + dtype_name(first.dtype) +
                     " with " + std::to_string(first.shape.size()) + " dimensions and of " +
                     dtype_name(rows[i].dtype) + " with " + std::to_string(rows[i].shape.size()),
          .hint = "Rows of one column need one type and number of dimensions."};
    equal = equal && rows[i].shape == first.shape;
    in_place = in_place && rows[i].elsewhere.empty() && reserved_at(column, rows[i], bytes);
    bytes += rows[i].bytes.size();
  }
  if (!in_place) {
    slots.push_back(pool.take(bytes));
    column.data = slots.back()->memory;
  }
  column.data = column.data.first(bytes);
  column.dtype = first.dtype;
  column.ragged = !equal;
  column.row_ndim = static_cast<int>(first.shape.size());
  uint64_t at = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!in_place && !rows[i].bytes.empty())
      std::memcpy(column.data.data() + at, rows[i].bytes.data(), rows[i].bytes.size());
    at += rows[i].bytes.size();
    column.offsets[i + 1] = static_cast<int64_t>(at / dtype_size(first.dtype));
    if (!equal)
      column.row_shapes.insert(column.row_shapes.end(), rows[i].shape.begin(), rows[i].shape.end());
  }
  if (equal) {
    column.shape = first.shape;
    column.shape.insert(column.shape.begin(), static_cast<int64_t>(rows.size()));
    column.offsets.clear();
  } else {
    column.shape = {column.offsets.back()};
  }
  return {};
}

}  // namespace headrace
