// A Catalog answers what a data set consists of: shards, names, where samples are. Two kinds: one
// read from a manifest (tables by ranges, when needed), one made in memory by indexing the shards.
//
// Thread-safety: every method may be called from any thread. No caching here: Dataset caches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/shard_index.h"
#include "headrace/dataset.h"
#include "headrace/store.h"
#include "io/cache/node_cache.h"
#include "plan/manifest.h"
#include "plan/shard_table.h"

namespace headrace {

class Catalog {
 public:
  virtual ~Catalog() = default;

  virtual const std::string& fingerprint() const = 0;
  virtual const Manifest& manifest() const = 0;
  virtual const ShardTable& table() const = 0;
  virtual bool has_manifest() const = 0;
  /// Whether samples are read over a network.
  virtual bool is_remote() const = 0;

  /// Full path of the shard, for messages.
  virtual Result<std::string> shard_name(uint32_t shard) const = 0;
  virtual Result<uint64_t> shard_checksum(uint32_t shard) const = 0;
  virtual Result<std::shared_ptr<const ShardIndex>> load_index(uint32_t shard) const = 0;
  /// Opens the archive of a shard.
  virtual Result<std::shared_ptr<const ByteSource>> open_shard(uint32_t shard) const = 0;
  /// Opens a loose file by the path its index section has.
  virtual Result<std::unique_ptr<ByteSource>> open_file(std::string_view path) const = 0;
  /// The same, without asking how large it is: `bytes`, says the index.
  virtual Result<std::unique_ptr<ByteSource>> open_known_file(std::string_view path,
                                                              uint64_t bytes) const = 0;
  /// Samples whose key may be `key` (same hash), in manifest order; callers compare the keys.
  virtual Result<std::vector<SampleId>> candidates(std::string_view key) const = 0;
};

/// The catalog of a manifest, whose text is `root`, in `store`; tables and shards are read through
/// `cache` if there is one.
Result<std::unique_ptr<Catalog>> open_manifest_catalog(
    std::shared_ptr<Store> store, std::string_view root,
    const std::shared_ptr<NodeCache>& cache = nullptr);

/// Where the shards of a manifest in `store` are: there, or at `base` (a URL, an absolute path, or
/// one relative to the manifest).
Result<std::shared_ptr<Store>> data_store(const std::shared_ptr<Store>& store,
                                          const std::string& base);

/// Indexes archives now, with `options.threads` threads. `paths` are full paths, which begin with
/// `folder`: that of the data set and a '/', or nothing.
Result<std::unique_ptr<Catalog>> index_archives(const std::string& folder,
                                                const std::vector<std::string>& paths,
                                                const OpenOptions& options,
                                                const std::shared_ptr<NodeCache>& cache);

/// Lists and groups a folder of loose files now.
Result<std::unique_ptr<Catalog>> index_loose_files(std::shared_ptr<Store> store,
                                                   const OpenOptions& options,
                                                   const std::shared_ptr<NodeCache>& cache);

}  // namespace headrace
