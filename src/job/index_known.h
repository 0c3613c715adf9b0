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
#include "job/published_shards.h"
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
  int64_t written_ns_ = 0;
  bool made_by_index_ = false;
  std::optional<PublishedShards> shards_;
  std::map<std::string, uint64_t> numbers_;
};

}  // namespace headrace
