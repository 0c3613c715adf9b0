#include "engine/span_fetcher.h"

#include <algorithm>

#include "base/permutation.h"
#include "base/try.h"

namespace headrace {
namespace {

/// Two numbers that rule how neighbours come with one request: a gap that is read along, and the
/// longest request.
constexpr uint64_t kGapBytes = uint64_t{8} << 10;
constexpr uint64_t kRequestBytes = uint64_t{8} << 20;

uint64_t key_of(const RowOrigin& row, const BlockPart& part) {
  return mix(uint64_t{row.set} << 32 | row.id.shard, part.first);
}

}  // namespace

/// The bytes of one place, of a row that is fetched by itself.
struct SpanFetcher::Wanted {
  std::shared_ptr<const ByteSource> source;
  uint64_t begin = 0;
  uint64_t end = 0;
  size_t place = 0;
};

SpanFetcher::SpanFetcher(FetchOptions options,
                         const std::vector<std::shared_ptr<const Dataset>>& sets)
    : options_(std::move(options)), sets_(sets) {}

Result<std::vector<SpanFetcher::Span>> SpanFetcher::fetch(
    const RowsToFetch& rows, const std::shared_ptr<Countdown>& waiter) {
  std::vector<Span> spans(rows.places.size());
  std::vector<Wanted> wanted;
  if (steps_fetched_++ == 1) want_rest_of_first_parts(rows.deadline);
  if (!has_room()) drop_unused();
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    if (!sets_[rows.rows[i].set]->is_remote()) continue;
    // What the node's cache holds whole is read as files are.
    if (rows.views[i]->archive && !rows.views[i]->archive->is_remote()) continue;
    if (comes_with_its_part(rows, i))
      fetch_part(rows, i, waiter, spans);
    else
      HR_CHECK(collect_own_bytes(rows, i, wanted));
  }
  fetch_together(wanted, rows.deadline, waiter, spans);
  return spans;
}

std::shared_ptr<FetchedSpan> SpanFetcher::make_span(std::shared_ptr<const ByteSource> source,
                                                    uint64_t begin, uint64_t end) {
  return std::make_shared<FetchedSpan>(std::move(source), begin, end,
                                       options_.memory->take(end - begin));
}

bool SpanFetcher::comes_with_its_part(const RowsToFetch& rows, size_t row) const {
  if (!options_.whole_parts || !rows.views[row]->archive || rows.rows[row].padded) return false;
  return rows.parts[row].count > 0 || parts_.contains(key_of(rows.rows[row], rows.parts[row]));
}

void SpanFetcher::fetch_part(const RowsToFetch& rows, size_t row,
                             const std::shared_ptr<Countdown>& waiter, std::span<Span> out) {
  const BlockPart& wanted = rows.parts[row];
  const ShardView& view = *rows.views[row];
  const uint64_t key = key_of(rows.rows[row], wanted);
  Part& part = parts_[key];
  if (!part.span) {
    part.span = make_span(view.archive, view.index->sample_begin(wanted.first),
                          view.index->sample_end(wanted.first + wanted.count - 1));
    part.rows_left = wanted.count;
  }
  part.last_used = rows.deadline;
  const size_t width = rows.places.size() / rows.rows.size();
  for (size_t c = row * width; c < (row + 1) * width; ++c)
    if (!rows.places[c].absent()) out[c] = part.span;

  const uint32_t sample = rows.rows[row].id.sample;
  // More steps like the first would cut the parts into more requests, each of which waits.
  const bool whole = steps_fetched_ > 1 || options_.ahead;
  if (whole) part.span->want_rest(rows.deadline);
  part.span->want(view.index->sample_begin(sample), view.index->sample_end(sample), rows.deadline,
                  waiter);
  if (is_last_use(rows, row) && --part.rows_left == 0) parts_.erase(key);
}

Status SpanFetcher::collect_own_bytes(const RowsToFetch& rows, size_t row,
                                      std::vector<Wanted>& wanted) {
  const RowOrigin& origin = rows.rows[row];
  const ShardView& view = *rows.views[row];
  const size_t width = rows.places.size() / rows.rows.size();
  for (size_t c = row * width; c < (row + 1) * width; ++c) {
    const FieldPlace& place = rows.places[c];
    if (place.absent() || place.size == 0) continue;
    std::shared_ptr<const ByteSource> source = view.archive;
    if (!source) {
      HR_TRY(source, sets_[origin.set]->source(origin.id.shard, *view.index, place.object));
    }
    wanted.push_back({std::move(source), place.offset, place.offset + place.size, c});
  }
  return {};
}

void SpanFetcher::fetch_together(std::vector<Wanted>& wanted, Deadline deadline,
                                 const std::shared_ptr<Countdown>& waiter, std::span<Span> out) {
  std::ranges::sort(wanted, {},
                    [](const Wanted& w) { return std::tuple(w.source.get(), w.begin, w.end); });
  for (size_t first = 0; first < wanted.size();) {
    const uint64_t begin = wanted[first].begin;
    uint64_t end = wanted[first].end;
    size_t last = first + 1;
    for (; last < wanted.size() && wanted[last].source == wanted[first].source; ++last) {
      if (wanted[last].begin > end + kGapBytes) break;
      if (wanted[last].end > end && wanted[last].end - begin > kRequestBytes) break;
      end = std::max(end, wanted[last].end);
    }
    const auto span = make_span(wanted[first].source, begin, end);
    for (; first < last; ++first) out[wanted[first].place] = span;
    span->want(begin, end, deadline, waiter);
  }
}

void SpanFetcher::want_rest_of_first_parts(Deadline deadline) {
  for (auto& [key, part] : parts_) part.span->want_rest(deadline);
}

/// Parts of which this run does not plan every row (it began in their midst) would stay for ever:
/// those that were used longest ago go, unless a ticket holds them.
void SpanFetcher::drop_unused() {
  std::vector<std::pair<Deadline, uint64_t>> unused;  // last use, key
  for (const auto& [key, part] : parts_)
    if (part.span.use_count() == 1) unused.emplace_back(part.last_used, key);
  std::ranges::sort(unused);
  for (const auto& [used, key] : unused) {
    if (has_room()) return;
    parts_.erase(key);
  }
}

}  // namespace headrace
