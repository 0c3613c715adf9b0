#include "plan/order.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/try.h"
#include "plan/order_keys.h"

namespace headrace {
namespace {

// Sums and positions stay far from 2^64, whatever a manifest says.
constexpr uint64_t kMostSamples = uint64_t{1} << 60;
constexpr uint64_t kMostBatch = uint64_t{1} << 32;

Status check_options(const OrderOptions& options) {
  const auto usage = [](std::string message, std::string hint) {
    return Error{
        .code = Code::kUsage, .message = std::move(message), .origin = {}, .hint = std::move(hint)};
  };
  if (options.global_batch == 0 || options.global_batch > kMostBatch)
    return usage("a global batch of " + std::to_string(options.global_batch) + " rows",
                 "It must be 1 to 2^32.");
  if (options.lanes == 0 || options.global_batch % options.lanes != 0)
    return usage(std::to_string(options.lanes) + " lanes do not divide the global batch of " +
                     std::to_string(options.global_batch) + " rows",
                 "Leave lanes out, or give a divisor of the global batch.");
  if (!options.shuffle && options.lanes != 1)
    return usage(std::to_string(options.lanes) + " lanes without shuffle",
                 "Without shuffle there is one lane; leave lanes out.");
  if (options.window_bytes == 0) return usage("a window of 0 bytes", "Leave window out.");
  return {};
}

Status check_table(const ShardTable& table) {
  const uint64_t shards = table.size();
  if (table.block_samples.size() != shards || table.bytes.size() != shards)
    return Error{.code = Code::kCorrupt, .message = "the shard table's columns differ in length"};
  if (shards > std::numeric_limits<uint32_t>::max())
    return Error{.code = Code::kCorrupt,
                 .message = "a shard table of " + std::to_string(shards) + " shards"};
  const auto empty_block =
      std::find(table.block_samples.begin(), table.block_samples.end(), uint32_t{0});
  if (empty_block != table.block_samples.end())
    return Error{.code = Code::kCorrupt,
                 .message = "shard number " +
                            std::to_string(empty_block - table.block_samples.begin()) +
                            " has blocks of 0 samples"};
  if (table.total_samples() > kMostSamples)
    return Error{.code = Code::kCorrupt, .message = "the shard table counts over 2^60 samples"};
  return {};
}

}  // namespace

uint64_t window_samples(const ShardTable& table, uint64_t window_bytes) {
  uint64_t largest_block = 1;
  for (size_t s = 0; s < table.size(); ++s)
    largest_block =
        std::max<uint64_t>(largest_block, std::min(table.samples[s], table.block_samples[s]));
  const uint64_t samples = table.total_samples();
  const uint64_t bytes = std::max(table.total_bytes(), samples);  // a sample has a byte at least
  if (samples == 0) return largest_block;
  return std::clamp(multiply_divide(window_bytes, samples, bytes), largest_block, kMostSamples);
}

Result<std::shared_ptr<const Order>> Order::create(std::shared_ptr<const ShardTable> table,
                                                   const OrderOptions& options) {
  HR_CHECK(check_options(options));
  HR_CHECK(check_table(*table));
  return std::shared_ptr<const Order>(new Order(std::move(table), options));
}

Order::Order(std::shared_ptr<const ShardTable> table, const OrderOptions& options)
    : table_(std::move(table)),
      options_(options),
      samples_(table_->total_samples()),
      window_(window_samples(*table_, options.window_bytes)),
      shards_(table_->size(), shard_key(options.seed)),
      begins_(table_->size() + 1) {
  uint64_t begin = 0;
  for (uint64_t rank = 0; rank < table_->size(); ++rank) {
    begins_[rank] = begin;
    begin += table_->samples[shard(rank)];
  }
  begins_.back() = begin;
}

uint64_t Order::lane_of(uint64_t place) const {
  // The last lane l with floor(lN/L) <= place, that is lN < (place + 1) L.
  const auto bound = static_cast<unsigned __int128>(place + 1) * options_.lanes - 1;
  return static_cast<uint64_t>(bound / samples_);
}

uint64_t Order::rank_of(uint64_t place) const {
  // The last shard that begins at or before the place; empty shards come before it.
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), place);
  return static_cast<uint64_t>(after - begins_.begin()) - 1;
}

uint64_t Order::place_of(SampleRef sample) const {
  const uint64_t rank = options_.shuffle ? shards_.inverse(sample.shard) : sample.shard;
  return begins_[rank] + sample.sample;
}

SampleRef Order::sample_at(uint64_t place) const {
  const uint64_t rank = rank_of(place);
  return {shard(rank), static_cast<uint32_t>(place - begins_[rank])};
}

}  // namespace headrace
