// What a job of reshaping reads: data sets of tar shards one after the other, as one long row of
// samples, and what pins them.
//
//   set        0: photos/              1: more/
//   shard      0    1    2             3        4           numbered over all sets
//   sample     0 … 99 | 100 … 180 |…   300 …                numbered over all shards
//
// Pins: the fingerprint of each set and the version of each shard (a file's size and time of
// change, an ETag). What is no longer what it was when it was pinned is Code::kChanged, with its
// name. Thread-safety: every const method from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataset/lru_cache.h"
#include "headrace/dataset.h"

namespace headrace {

/// One data set, as a plan names it.
struct PinnedSet {
  std::vector<std::string> locations;  ///< absolute paths or URLs
  std::string fingerprint;
  std::vector<std::string> versions;  ///< of each shard; "" where nothing tells
};

class Inputs {
 public:
  /// Opens `sources`, each of which is a data set; where all are names of archives they are one
  /// together, unless `apart`. Loose files are refused (Code::kUsage).
  static Result<Inputs> open(const std::vector<std::string>& sources, bool apart, unsigned threads);
  /// Opens what was pinned. Code::kChanged if a fingerprint is another one now.
  static Result<Inputs> open_pinned(std::vector<PinnedSet> sets, unsigned threads);

  /// Asks for the version of every shard.
  Status pin(unsigned threads);
  /// Asks again, by name, for these shards. Code::kChanged names the first that is another one now.
  Status check_pins(const std::vector<uint32_t>& shards, unsigned threads) const;
  const std::vector<PinnedSet>& pins() const { return pins_; }

  uint64_t samples() const { return first_.back(); }
  uint32_t shards() const { return static_cast<uint32_t>(first_.size() - 1); }
  uint64_t bytes() const;
  bool is_remote() const;
  const std::vector<std::shared_ptr<const Dataset>>& sets() const { return sets_; }

  /// Number of the shard's first sample.
  uint64_t first_sample(uint32_t shard) const { return first_[shard]; }
  uint32_t shard_samples(uint32_t shard) const {
    return static_cast<uint32_t>(first_[shard + 1] - first_[shard]);
  }
  uint64_t shard_bytes(uint32_t shard) const;
  /// Number of the set's first sample.
  uint64_t set_begin(size_t set) const { return first_[set_shard_[set]]; }
  /// The shard and number in the shard of sample `i`. Precondition: i < samples().
  SampleId locate(uint64_t i) const;

  Result<std::string> shard_name(uint32_t shard) const;
  Result<std::shared_ptr<const ShardIndex>> index(uint32_t shard) const;
  /// The archive. Code::kChanged if its version is not the one that was pinned.
  Result<std::shared_ptr<const ByteSource>> source(uint32_t shard) const;

 private:
  struct Place {
    size_t set;
    uint32_t shard;
  };
  explicit Inputs(size_t sets);
  Status take(std::vector<std::string> locations, unsigned threads);
  void expect_pins() { checked_ = std::make_unique<std::atomic<bool>[]>(shards()); }
  Place place(uint32_t shard) const;
  Result<std::shared_ptr<const ByteSource>> open(uint32_t shard) const;
  Error changed(uint32_t shard) const;

  size_t planned_sets_;  // how many will be taken, at least 1
  std::vector<std::shared_ptr<const Dataset>> sets_;
  std::vector<PinnedSet> pins_;
  std::vector<uint64_t> first_{0};                // of each shard; one more at the end
  std::vector<uint32_t> set_shard_{0};            // first shard of each set; one more at the end
  std::unique_ptr<LruCache<ByteSource>> open_;    // archives, by shard
  std::unique_ptr<std::atomic<bool>[]> checked_;  // by shard: opened, and as it was pinned
};

}  // namespace headrace
