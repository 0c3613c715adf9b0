#include "engine/document_pass.h"

#include <limits>
#include <mutex>

#include "base/parallel.h"
#include "base/stop_scope.h"
#include "base/try.h"
#include "engine/length_finder.h"

namespace headrace {
namespace {

constexpr uint64_t kMostLanes = uint64_t{1} << 24;  // a state may claim any number

/// The lanes of the rank's rows in a full step, or none where their documents' lengths take too
/// much memory.
LaneRange kept_lanes(const LoaderOptions& o, const Order& order) {
  const OrderOptions& options = order.options();
  const RowRange rows = rank_rows(options.global_batch, o.rank, o.world);
  const uint64_t share = options.global_batch / options.lanes;
  const LaneRange lanes{rows.begin / share, divide_up(rows.end, share)};
  const uint64_t documents = order.lane_begin(lanes.end) - order.lane_begin(lanes.begin);
  if (rows.size() == 0 || documents > o.memory_bytes / sizeof(uint32_t)) return {};
  return lanes;
}

Result<std::vector<uint32_t>> lengths_of(const Dataset& set, const LengthRule& rule,
                                         uint32_t shard) {
  HR_TRY(const auto index, set.index(shard));
  std::vector<uint32_t> fields;
  for (const std::string& source : rule.field.sources)
    if (const int number = index->field_number(source); number >= 0)
      fields.push_back(static_cast<uint32_t>(number));
  std::vector<uint32_t> lengths(index->size());
  for (uint32_t sample = 0; sample < index->size(); ++sample) {
    HR_TRY(const uint64_t length, sample_length(rule, *index, fields, sample));
    if (length > std::numeric_limits<uint32_t>::max())
      return Error{
          .code = Code::kCorrupt,
          .message = "the index says that a document has " + std::to_string(length) + " tokens",
          .origin = set.origin({shard, sample}),
          .hint = "A document may have 2^32 - 1 tokens: cut it."};
    lengths[sample] = static_cast<uint32_t>(length);
  }
  return lengths;
}

Error interrupted() {
  return {.code = Code::kInterrupted,
          .message = "the lengths of documents were not read to the end"};
}

}  // namespace

Result<std::shared_ptr<const DocumentLengths>> read_document_lengths(
    const LoaderOptions& options, std::shared_ptr<const Order> order) {
  if (order->lanes() > kMostLanes)
    return Error{.code = Code::kUsage,
                 .message = std::to_string(order->lanes()) + " lanes of packed documents",
                 .origin = {},
                 .hint = "Give lanes= of at most 2^24."};
  const LaneRange kept = kept_lanes(options, *order);
  auto found = std::make_shared<DocumentLengths>(std::move(order), kept);
  const Dataset& set = *options.sets.front();
  const LengthRule rule = length_rule(options);
  std::mutex mutex;
  HR_CHECK(for_each(set.shards(), options.threads, [&](uint64_t shard) -> Status {
    if (current_stop().stop_requested()) return interrupted();
    HR_TRY(const auto lengths, lengths_of(set, rule, static_cast<uint32_t>(shard)));
    const std::lock_guard lock(mutex);
    found->add(static_cast<uint32_t>(shard), lengths);
    return {};
  }));
  return std::shared_ptr<const DocumentLengths>(std::move(found));
}

}  // namespace headrace
