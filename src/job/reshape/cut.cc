#include "job/reshape/cut.h"

#include <algorithm>

#include "base/try.h"
#include "dataset/containers.h"
#include "format/tar_writer.h"
#include "job/pack.h"
#include "job/reshape/segment.h"
#include "job/reshape/threads.h"

namespace headrace {
namespace {

uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

// About what `count` samples take in the output, from the summaries in the manifests.
uint64_t mean_bytes(const Inputs& inputs, const FieldMap& fields, uint64_t count) {
  if (inputs.samples() == 0) return 0;
  unsigned __int128 bytes = 0;
  if (fields.is_identity()) {
    bytes = inputs.bytes();
  } else {
    for (const auto& set : inputs.sets())
      for (const FieldSummary& field : set->manifest().fields) {
        const bool kept = fields.others || std::ranges::any_of(fields.rules, [&](const auto& rule) {
                            return std::ranges::find(rule.from, field.name) != rule.from.end();
                          });
        if (kept) bytes += field.bytes + field.count * (kTarBlock + kTarBlock / 2);
      }
  }
  return static_cast<uint64_t>(bytes * count / inputs.samples());
}

// The bytes of every sample in the output, by its number in the input. Samples that are numbered
// anew are taken to get the longest key.
Result<Rows> sample_sizes(const Inputs& inputs, const SampleLayouts& layouts, uint64_t positions,
                          const WorkRoom& room) {
  constexpr uint32_t kBatch = 64;  // shards
  RowsBuilder sizes(room.scratch);
  for (uint32_t begin = 0; begin < inputs.shards(); begin += kBatch) {
    std::vector<std::vector<uint64_t>> batch(std::min(kBatch, inputs.shards() - begin));
    HR_CHECK(for_each(batch.size(), room.threads, [&](uint64_t i) -> Status {
      const auto shard = begin + static_cast<uint32_t>(i);
      HR_TRY(const auto index, inputs.index(shard));
      SampleLayout layout;
      for (uint32_t sample = 0; sample < index->size(); ++sample) {
        const Pick pick{positions - 1, shard, sample, index.get()};
        HR_TRY(const bool kept, layouts.lay_out({&pick, 1}, layout));
        batch[i].push_back(kept ? layout.bytes(layouts.fields()) : 0);
      }
      return {};
    }));
    for (const auto& shard : batch) HR_CHECK(sizes.add(shard));
  }
  return sizes.finish();
}

// Fills shard after shard up to the limits. `bytes_at`: of a position, a Result<uint64_t>.
template <typename BytesAt>
Result<std::vector<uint32_t>> fill(uint64_t first, uint64_t count, const CutOptions& options,
                                   uint64_t most, const BytesAt& bytes_at) {
  std::vector<uint32_t> counts;
  uint32_t samples = 0;
  uint64_t bytes = kTarEndBytes;
  for (uint64_t position = first; position < first + count; ++position) {
    HR_TRY(const uint64_t more, bytes_at(position));
    if (samples > 0 && (bytes + more > options.shard_bytes || samples >= most)) {
      counts.push_back(samples);
      samples = 0;
      bytes = kTarEndBytes;
    }
    ++samples;
    bytes += more;
  }
  if (samples > 0) counts.push_back(samples);
  return counts;
}

Result<std::vector<uint32_t>> fill_shards(const Inputs& inputs, const Assignment& assignment,
                                          uint64_t first, uint64_t count, const CutOptions& options,
                                          const WorkRoom& room) {
  const uint64_t most = std::min<uint64_t>(
      options.shard_samples > 0 ? options.shard_samples : UINT32_MAX, UINT32_MAX);
  if (options.shard_bytes == 0) {
    std::vector<uint32_t> counts;
    for (uint64_t left = count; left > 0; left -= counts.back())
      counts.push_back(static_cast<uint32_t>(std::min(left, most)));
    return counts;
  }
  const SampleOrder& order = assignment.order;
  const SampleLayouts layouts(inputs, assignment.fields, assignment.rekey);
  if (order.kind() != SampleOrder::Kind::kIdentity && order.columns() == 1) {
    HR_TRY(const Rows sizes, sample_sizes(inputs, layouts, order.size(), room));
    return fill(first, count, options, most,
                [&](uint64_t at) { return Result<uint64_t>(sizes[order.at(at)]); });
  }
  IndexTable indexes(inputs);
  if (order.columns() > 1) HR_CHECK(indexes.load_all(room.threads));
  PickReader picks(inputs, order, indexes);
  SampleLayout layout;
  return fill(first, count, options, most, [&](uint64_t position) -> Result<uint64_t> {
    HR_CHECK(picks.read(position));
    HR_TRY(const bool kept, layouts.lay_out(picks.picks(), layout));
    return kept ? layout.bytes(layouts.fields()) : 0;
  });
}

}  // namespace

Result<OutputGroup> cut_shards(const Inputs& inputs, const Assignment& assignment, uint64_t first,
                               uint64_t count, CutOptions options, const WorkRoom& room) {
  if (options.shards > 0 && (options.shard_bytes > 0 || options.shard_samples > 0))
    return Error{.code = Code::kUsage,
                 .message = "a number of shards and a size of shards exclude each other",
                 .hint = "Give --shards, or --shard-size and --samples."};
  OutputGroup group{.name = options.name, .counts = {}, .samples = count, .shards = 0};
  if (count == 0) return group;
  HR_TRY(const NameTemplate names, NameTemplate::parse(options.name, container_of(options.name)));
  const bool unlimited =
      options.shards == 0 && options.shard_bytes == 0 && options.shard_samples == 0;
  if (unlimited && names.limit() != ~uint64_t{0})
    options.shards = names.limit();
  else if (unlimited)
    options.shard_bytes = kDefaultShardBytes;

  const bool permuted = assignment.order.kind() == SampleOrder::Kind::kPermuted;
  if (options.shards == 0 && (options.multiple_of > 1 || permuted)) {
    if (options.shard_bytes > 0)
      options.shards = ceil_div(
          mean_bytes(inputs, assignment.fields, count),
          std::max<uint64_t>(1, options.shard_bytes - std::min(kTarEndBytes, options.shard_bytes)));
    if (options.shard_samples > 0)
      options.shards = std::max(options.shards, ceil_div(count, options.shard_samples));
    options.shards = std::max<uint64_t>(options.shards, 1);
  }
  if (options.shards > 0) {
    const uint64_t wanted = ceil_div(options.shards, options.multiple_of) * options.multiple_of;
    group.shards = std::min(wanted, count);
    if (ceil_div(count, group.shards) <= UINT32_MAX) return group;
    return Error{.code = Code::kUsage,
                 .message = "a shard holds at most 2^32 samples",
                 .hint = "Ask for more shards."};
  }
  HR_TRY(group.counts, fill_shards(inputs, assignment, first, count, options, room));
  group.shards = group.counts.size();
  return group;
}

}  // namespace headrace
