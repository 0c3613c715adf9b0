#include "job/reshape/cut.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/try.h"
#include "dataset/containers.h"
#include "format/tar_writer.h"
#include "job/pack.h"
#include "job/reshape/segment.h"

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

// Calls add(sizes) for shard after shard of the input: the bytes of its samples in the output.
// Samples that are numbered anew are taken to get the longest key.
template <typename Add>
Status for_sizes(const Inputs& inputs, const SampleLayouts& layouts, uint64_t positions,
                 unsigned threads, const Add& add) {
  constexpr uint32_t kBatch = 64;  // shards
  for (uint32_t begin = 0; begin < inputs.shards(); begin += kBatch) {
    std::vector<std::vector<uint64_t>> batch(std::min(kBatch, inputs.shards() - begin));
    HR_CHECK(for_each(batch.size(), threads, [&](uint64_t i) -> Status {
      const auto shard = begin + static_cast<uint32_t>(i);
      HR_TRY(const auto index, inputs.index(shard));
      batch[i].resize(index->size());
      for (uint32_t sample = 0; sample < index->size(); ++sample) {
        HR_TRY(batch[i][sample], layouts.bytes({positions - 1, shard, sample, index.get()}));
      }
      return {};
    }));
    for (const auto& sizes : batch) HR_CHECK(add(sizes));
  }
  return {};
}

uint32_t most_samples(const CutOptions& options) {
  return options.shard_samples > 0
             ? static_cast<uint32_t>(std::min<uint64_t>(options.shard_samples, UINT32_MAX))
             : UINT32_MAX;
}

// Fills shard after shard up to the limits.
class ShardFiller {
 public:
  explicit ShardFiller(const CutOptions& options)
      : most_bytes_(options.shard_bytes), most_samples_(most_samples(options)) {}

  /// The next sample, of so many bytes.
  void add(uint64_t bytes) {
    if (samples_ > 0 && (bytes_ + bytes > most_bytes_ || samples_ >= most_samples_)) end_shard();
    ++samples_;
    bytes_ += bytes;
  }

  std::vector<uint32_t> finish() {
    if (samples_ > 0) end_shard();
    return std::move(counts_);
  }

 private:
  void end_shard() {
    counts_.push_back(samples_);
    samples_ = 0;
    bytes_ = kTarEndBytes;
  }

  const uint64_t most_bytes_;
  const uint32_t most_samples_;
  std::vector<uint32_t> counts_;
  uint32_t samples_ = 0;
  uint64_t bytes_ = kTarEndBytes;
};

std::vector<uint32_t> equal_counts(uint64_t samples, uint32_t most) {
  std::vector<uint32_t> counts;
  for (uint64_t left = samples; left > 0; left -= counts.back())
    counts.push_back(static_cast<uint32_t>(std::min<uint64_t>(left, most)));
  return counts;
}

Result<std::vector<uint32_t>> fill_shards(const Inputs& inputs, const Assignment& assignment,
                                          uint64_t first, uint64_t count, const CutOptions& options,
                                          const WorkRoom& room) {
  if (options.shard_bytes == 0) return equal_counts(count, most_samples(options));
  const SampleOrder& order = assignment.order;
  const SampleLayouts layouts(inputs, assignment.fields, assignment.rekey);
  ShardFiller filler(options);
  if (order.columns() > 1) {
    IndexTable indexes(inputs);
    HR_CHECK(indexes.load_all(room.threads));
    PickReader picks(inputs, order, indexes);
    SampleLayout layout;
    for (uint64_t position = first; position < first + count; ++position) {
      HR_CHECK(picks.read(position));
      HR_TRY(const bool kept, layouts.lay_out(picks.picks(), layout));
      filler.add(kept ? layout.bytes(layouts.fields()) : 0);
    }
  } else if (order.kind() == SampleOrder::Kind::kIdentity) {
    uint64_t position = 0;
    const auto add = [&](const std::vector<uint64_t>& sizes) -> Status {
      for (const uint64_t bytes : sizes) {
        if (position >= first && position < first + count) filler.add(bytes);
        ++position;
      }
      return {};
    };
    HR_CHECK(for_sizes(inputs, layouts, order.size(), room.threads, add));
  } else {
    RowsBuilder all(room.scratch);
    HR_CHECK(for_sizes(inputs, layouts, order.size(), room.threads,
                       [&](const std::vector<uint64_t>& sizes) { return all.add(sizes); }));
    HR_TRY(const Rows sizes, all.finish());
    for (uint64_t at = first; at < first + count; ++at) filler.add(sizes[order.at(at)]);
  }
  return filler.finish();
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
