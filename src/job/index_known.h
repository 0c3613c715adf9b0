// What an earlier `index` knew of shards, so that only new and changed ones are read again.
// Thread-safety: find() from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "job/shard_record.h"
#include "plan/manifest.h"

namespace headrace {

class KnownShards {
 public:
  /// Reads the manifest of `store` if `index` made it with the same options; knows nothing
  /// otherwise (no manifest, another one, or one that cannot be read).
  static Result<KnownShards> read(const std::shared_ptr<Store>& store,
                                  const std::string& options_json, const std::string& base);

  /// True if the manifest there is the work of `index`, whatever its options.
  bool made_by_index() const { return made_by_index_; }

  /// The record of shard `name` if it has the size it had, and was last changed (nanoseconds since
  /// 1970) before the manifest was written.
  Result<std::optional<ShardRecord>> find(const std::string& name, uint64_t bytes,
                                          int64_t mtime_ns) const;

 private:
  struct Known {
    ShardPlace place;
    uint32_t samples;
    uint32_t block_samples;
    uint64_t bytes;
  };

  Status read_tables();

  std::shared_ptr<Store> store_;
  Manifest manifest_;
  int64_t written_ns_ = 0;
  bool made_by_index_ = false;
  std::map<std::string, Known> shards_;
  std::vector<std::shared_ptr<const ByteSource>> index_files_;
};

}  // namespace headrace
