// A Dataset is shards that are open: the manifest, and, read when first needed, the places of the
// samples. It gives random access by number and by key; loaders stand on it.
//
//   auto set = Dataset::open({"shards/"});       // a folder with headrace.json, tar shards, loose
//   files auto sample = (*set)->sample(17);
//
// Thread-safety: immutable to its users; every method may be called from any thread at once.
// Ownership: share it by std::shared_ptr; samples own their bytes and outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/cache_counters.h"
#include "headrace/result.h"
#include "headrace/store.h"

namespace headrace {

struct Manifest;
struct ShardTable;
class ShardIndex;
struct Selection;

/// A sample's place: number of the shard, number in the shard.
struct SampleId {
  uint32_t shard = 0;
  uint32_t sample = 0;
  bool operator==(const SampleId&) const = default;
};

/// One sample, read: its key, its fields, where it came from. Owns the bytes.
class Sample {
 public:
  struct Field {
    std::string name;
    size_t begin = 0;  ///< in the sample's bytes
    size_t size = 0;
  };

  Sample(std::string key, Origin origin, std::vector<Field> fields, std::vector<std::byte> bytes)
      : key_(std::move(key)),
        origin_(std::move(origin)),
        fields_(std::move(fields)),
        bytes_(std::move(bytes)) {}

  const std::string& key() const { return key_; }
  const Origin& origin() const { return origin_; }
  const std::vector<Field>& fields() const { return fields_; }
  ByteView bytes(const Field& field) const {
    return ByteView(bytes_).subspan(field.begin, field.size);
  }
  /// The field's bytes, or nothing.
  std::optional<ByteView> find(std::string_view name) const;

 private:
  std::string key_;
  Origin origin_;
  std::vector<Field> fields_;
  std::vector<std::byte> bytes_;
};

struct OpenOptions {
  /// How paths of loose files become keys, and members of shards without a manifest: see
  /// KeyRule in src/format/key_rule.h ("webdataset", "base", "path", "flat" or a regex).
  std::string key_rule = "webdataset";
  /// Keep everything read in memory (data sets that fit).
  bool cache_in_memory = false;
  /// Threads that index shards without a manifest. 0: as many as there are processors.
  unsigned threads = 0;
  /// The folder of the node's cache for what is read of remote stores. Empty: that of
  /// HEADRACE_CACHE, if it is set; "off": none.
  std::string cache_folder = {};
  /// Indexes of shards that are kept although nobody holds them: the newest, however large, and
  /// others up to so many bytes. 0: none.
  uint64_t index_memory_bytes = uint64_t{256} << 20;
  /// Shards that are kept open although nobody reads them.
  uint32_t open_shards = 256;
};

class Dataset {
 public:
  /// Opens a folder that holds a manifest, a manifest file, a folder or list of tar shards without
  /// one (they are indexed now, in memory), or a folder of loose files. Locations may be brace
  /// ranges, globs and @lists; several locations are one data set in the order given.
  static Result<std::shared_ptr<const Dataset>> open(const std::vector<std::string>& locations,
                                                     const OpenOptions& options = {});

  /// The data set of the selected samples alone, in the same order, with a fingerprint of its own.
  /// Shares what `whole` has read from its manifest; the fields' summaries stay those of the whole.
  static Result<std::shared_ptr<const Dataset>> select(const Dataset& whole, Selection selection);

  ~Dataset();
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  uint64_t size() const;  ///< samples
  uint32_t shards() const;
  const std::string& name() const;  ///< the first location, for messages
  /// Identity of the data: equal for equal shards, whatever the path.
  const std::string& fingerprint() const;
  const Manifest& manifest() const;
  const ShardTable& table() const;
  /// False when the data set had no manifest and was indexed while opening.
  bool has_manifest() const;
  /// Of this process and this data set; zeros without a cache.
  CacheCounters cache_counters() const;
  /// Whether reads take so long that they shall be asked for ahead: over a network, past the page
  /// cache, or because shards are compressed.
  bool is_remote() const;

  /// Full path or URL of a shard.
  Result<std::string> shard_name(uint32_t shard) const;
  /// Where the samples of a shard are. Read once, then kept while memory allows.
  Result<std::shared_ptr<const ShardIndex>> index(uint32_t shard) const;
  /// The object that holds a member of this shard: the archive, or loose file `object`.
  Result<std::shared_ptr<const ByteSource>> source(uint32_t shard, const ShardIndex& index,
                                                   uint32_t object) const;
  /// The archive of a shard, opened anew: it is what lies there now.
  Result<std::shared_ptr<const ByteSource>> open_shard(uint32_t shard) const;
  /// XXH3 of the whole shard as the manifest has it; 0 if unknown.
  Result<uint64_t> shard_checksum(uint32_t shard) const;

  /// Sample number i of the data set, in manifest order. Precondition: i < size().
  SampleId locate(uint64_t i) const;
  /// Every sample with this key, in manifest order; empty if none.
  Result<std::vector<SampleId>> find(std::string_view key) const;

  /// Reads one sample whole.
  Result<Sample> sample(SampleId id) const;
  Result<std::string> key(SampleId id) const;
  /// Shard, first member's name and offset of a sample, for messages.
  Origin origin(SampleId id) const;

 private:
  class Impl;
  explicit Dataset(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace
