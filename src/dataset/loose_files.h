// A folder of files that nobody packed, as a data set: files with one key are one sample, samples
// in the order of their keys' bytes, cut into virtual shards of kLooseShardSamples.
#pragma once

#include <memory>
#include <vector>

#include "format/key_rule.h"
#include "format/shard_index.h"
#include "headrace/store.h"

namespace headrace {

inline constexpr uint32_t kLooseShardSamples = 1000;

struct LooseFiles {
  std::vector<std::shared_ptr<const ShardIndex>> shards;
  std::vector<uint64_t> bytes;  ///< a shard: of all its files
};

/// Lists the store. Two files with one key and field are an error that names both.
Result<LooseFiles> group_loose_files(const Store& store, const KeyRule& rule);

}  // namespace headrace
