// The shards of a data set that is there, as records: what a new version of it, or a new index,
// goes on from.
//
// Thread-safety: record() from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "job/shard_record.h"
#include "plan/manifest.h"

namespace headrace {

class PublishedShards {
 public:
  /// Reads the tables that say where things are. Code::kCorrupt if they are not as `manifest` says.
  static Result<PublishedShards> open(const Store& store, const Manifest& manifest);

  uint64_t size() const { return table_.size(); }
  /// Relative to the data set, or to its base.
  const std::string& name(uint64_t shard) const { return names_[shard]; }
  const std::vector<ShardPlace>& places() const { return places_; }
  uint64_t bytes(uint64_t shard) const { return table_.bytes[shard]; }
  /// With the index section, which is checked.
  Result<ShardRecord> record(uint64_t shard) const;

 private:
  ShardTable table_;
  std::vector<ShardPlace> places_;
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<const ByteSource>> index_files_;
};

}  // namespace headrace
