#include "engine/row_filler.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/permutation.h"
#include "base/stream_copy.h"
#include "base/try.h"

namespace headrace {
namespace {

/// Raw fields from this size on are read straight into the slot. Smaller ones come with the rest of
/// the row into scratch memory, which stays in the L2 cache: copying them costs less than telling
/// the system of one more place.
constexpr uint64_t kDirectBytes = 8 << 10;

/// One read call costs about as much as copying 4 KiB: up to here, headers and fields that no
/// column asks for are read along.
constexpr uint64_t kWasteBytes = 8 << 10;

/// No page cache takes this long, plus a nanosecond a byte: the storage behind it was asked, if the
/// thread gave up its processor for it and was not just deprived of it.
constexpr auto kSlowRead = std::chrono::microseconds(200);

/// How often this thread has waited for something, as a read from storage. 0 where nobody counts.
int64_t waits() {
#ifdef RUSAGE_THREAD
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
#else
  return 0;
#endif
}

/// Whether this thread has waited since `before`; where nobody counts, it may have.
bool has_waited_since(int64_t before) {
  const int64_t now = waits();
  return now == 0 || now != before;
}

Error missing(const ColumnPlan& column) {
  std::string sources;
  for (const std::string& source : column.spec.sources)
    sources += (sources.empty() ? "'" : "' or '") + source;
  return {
      .code = Code::kCorrupt,
      .message = "the sample has no field " + sources + "' for column '" + column.spec.name + "'",
      .hint = "Give the column a default, or leave such samples out."};
}

Error in_column(Error error, const ColumnPlan& column, const FieldPlace& place) {
  error.message = "column '" + column.spec.name + "': " + error.message;
  if (error.origin.offset == Origin::kNoOffset) error.origin.offset = place.offset;
  return error;
}

}  // namespace

std::vector<size_t> pictures_first(const std::vector<ColumnPlan>& columns) {
  std::vector<size_t> order;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (picture_link(columns[c].spec.kind)) continue;
    order.push_back(c);
    for (size_t other = 0; other < columns.size(); ++other) {
      const auto link = picture_link(columns[other].spec.kind);
      if (link && link->column == columns[c].spec.name) order.push_back(other);
    }
  }
  return order;
}

void RowFiller::begin_chunk() { waits_before_ = waits(); }

void RowFiller::end_chunk() {
  timers_.bytes_read.fetch_add(std::exchange(bytes_read_, 0), std::memory_order_relaxed);
  timers_.read_calls.fetch_add(std::exchange(read_calls_, 0), std::memory_order_relaxed);
}

Status RowFiller::fill(const Dataset& set, uint32_t shard, const ShardView& view,
                       std::span<const FieldPlace> places,
                       std::span<const std::shared_ptr<const FetchedSpan>> fetched,
                       const RowKey& key, std::span<const RowTarget> targets, uint64_t* digest,
                       std::optional<Error>& gray) {
  timed_ = row_number_++ % Timers::kSampling == 0;
  span_ = {};
  direct_.assign(places.size(), false);
  const bool any_fetched = std::ranges::any_of(fetched, [](const auto& span) { return !!span; });
  if (view.archive && !any_fetched) HR_CHECK(read_span(*view.archive, places, targets));
  uint64_t content = 0;
  for (const size_t c : order_) {
    const FieldPlace& place = places[c];
    if (place.absent()) {
      if (!columns_[c].spec.fallback) return missing(columns_[c]);
      HR_CHECK(decode(c, as_bytes(*columns_[c].spec.fallback), key, targets[c]));
      continue;
    }
    const bool is_fetched = !fetched.empty() && fetched[c] != nullptr;
    auto encoded =
        is_fetched ? take(*fetched[c], place) : read(set, shard, view, place, c, targets[c]);
    if (!encoded.ok()) return in_column(std::move(encoded).error(), columns_[c], place);
    if (digest != nullptr) content = mix(content, xxh3(*encoded));
    if (auto status = decode(c, *encoded, key, targets[c]); !status.ok()) {
      Error error = in_column(std::move(status).error(), columns_[c], place);
      if (!grays_ || !columns_[c].decoder->write_gray(targets[c].bytes)) return error;
      if (!gray) gray = std::move(error);
    }
  }
  if (digest != nullptr) *digest = content;
  return {};
}

Result<ByteView> RowFiller::take(const FetchedSpan& fetched, const FieldPlace& place) {
  bytes_read_ += place.size;
  return fetched.bytes(place.offset, place.size);
}

Result<ByteView> RowFiller::read(const Dataset& set, uint32_t shard, const ShardView& view,
                                 const FieldPlace& place, size_t c, const RowTarget& target) {
  if (view.archive) return read(*view.archive, place, c, target);
  HR_TRY(const auto file, set.source(shard, *view.index, place.object));
  return read(*file, place, c, target);
}

Status RowFiller::read_span(const ByteSource& source, std::span<const FieldPlace> places,
                            std::span<const RowTarget> targets) {
  uint64_t begin = ~uint64_t{0}, end = 0, wanted = 0;
  bool any_direct = false;
  for (size_t c = 0; c < places.size(); ++c) {
    const FieldPlace& place = places[c];
    if (place.absent()) continue;
    wanted += place.size;
    begin = std::min(begin, place.offset);
    end = std::max(end, place.offset + place.size);
    any_direct = any_direct || (columns_[c].raw && place.size >= kDirectBytes);
  }
  if (end <= begin || end - begin > wanted + kWasteBytes) return {};
  span_ = buffer_.take(end - begin);  // untouched, and so free, where fields go elsewhere
  span_begin_ = begin;
  if (!any_direct) return timed_read(source, begin, {&span_, 1});
  cut_span(end, places, targets);
  return timed_read(source, begin, parts_);
}

/// Cuts the span into parts_: large raw fields that no other column shares go to the slot.
void RowFiller::cut_span(uint64_t end, std::span<const FieldPlace> places,
                         std::span<const RowTarget> targets) {
  by_place_.clear();
  for (uint32_t c = 0; c < places.size(); ++c)
    if (!places[c].absent()) by_place_.push_back(c);
  std::ranges::sort(by_place_, {}, [&](uint32_t c) { return places[c].offset; });
  parts_.clear();
  uint64_t at = span_begin_;     // the parts so far
  uint64_t taken = span_begin_;  // the fields so far
  for (size_t i = 0; i < by_place_.size(); ++i) {
    const uint32_t c = by_place_[i];
    const uint64_t first = places[c].offset, last = first + places[c].size;
    const bool shared =
        first < taken || (i + 1 < by_place_.size() && places[by_place_[i + 1]].offset < last);
    taken = std::max(taken, last);
    if (shared || !columns_[c].raw || places[c].size < kDirectBytes) continue;
    if (first > at) parts_.push_back(span_.subspan(at - span_begin_, first - at));
    parts_.push_back(targets[c].bytes);
    direct_[c] = true;
    at = last;
  }
  if (end > at) parts_.push_back(span_.subspan(at - span_begin_));
}

Result<ByteView> RowFiller::read(const ByteSource& source, const FieldPlace& place, size_t c,
                                 const RowTarget& target) {
  if (direct_[c]) return ByteView(target.bytes);
  if (!span_.empty()) return ByteView(span_).subspan(place.offset - span_begin_, place.size);
  const MutableBytes into = columns_[c].raw ? target.bytes : buffer_.take(place.size);
  HR_CHECK(timed_read(source, place.offset, {&into, 1}));
  return ByteView(into);
}

Status RowFiller::decode(size_t c, ByteView encoded, const RowKey& key, const RowTarget& target) {
  const ColumnPlan& column = columns_[c];
  const auto begin = timed_ ? Timer::Clock::now() : Timer::Clock::time_point();
  Status status;
  if (target.pending != nullptr) {
    auto row = column.decoder->decode_dynamic(encoded, key, scratch_);
    if (!row.ok()) return std::move(row).error();
    target.pending->dtype = row->dtype;
    target.pending->shape.assign(row->shape.begin(), row->shape.end());
    PendingRow& kept = *target.pending;
    if (row->bytes.size() == kept.reserved.size()) {
      stream_copy(kept.reserved, row->bytes);
      kept.bytes = kept.reserved;
    } else {
      kept.elsewhere.assign(row->bytes.begin(), row->bytes.end());
      kept.bytes = kept.elsewhere;
    }
  } else if (column.raw) {
    if (encoded.data() != target.bytes.data()) stream_copy(target.bytes, encoded);
  } else {
    status = column.decoder->decode_into(encoded, key, target.bytes, scratch_);
  }
  if (draws_ != nullptr && status.ok()) (*draws_)[c] = column.decoder->explain(key, scratch_);
  if (timed_) timers_.decode.add((Timer::Clock::now() - begin) * Timers::kSampling);
  return status;
}

Status RowFiller::timed_read(const ByteSource& source, uint64_t offset,
                             std::span<const MutableBytes> parts) {
  const auto begin = timed_ ? Timer::Clock::now() : Timer::Clock::time_point();
  Status status = source.read_parts(offset, parts);
  uint64_t bytes = 0;
  for (const MutableBytes part : parts) bytes += part.size();
  if (timed_) {
    const auto spent = Timer::Clock::now() - begin;
    timers_.read.add(spent * Timers::kSampling);
    const bool slow = spent > kSlowRead + std::chrono::nanoseconds(bytes);
    if (slow && has_waited_since(waits_before_)) hints_.saw_slow_read();
  }
  bytes_read_ += bytes;
  ++read_calls_;
  return status;
}

}  // namespace headrace
