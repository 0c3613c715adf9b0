// Catalogs of data without a manifest, made by looking at it now: tar shards, or loose files.
#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/digest.h"
#include "base/parallel.h"
#include "base/try.h"
#include "dataset/catalog.h"
#include "dataset/containers.h"
#include "dataset/loose_files.h"
#include "format/key_rule.h"
#include "io/urls.h"

namespace headrace {
namespace {

class MemoryCatalog : public Catalog {
 public:
  const std::string& fingerprint() const override { return fingerprint_; }
  const Manifest& manifest() const override { return manifest_; }
  const ShardTable& table() const override { return table_; }
  bool has_manifest() const override { return false; }
  Result<uint64_t> shard_checksum(uint32_t) const override { return uint64_t{0}; }
  Result<std::shared_ptr<const ShardIndex>> load_index(uint32_t shard) const override {
    return indexes_[shard];
  }

  Result<std::vector<SampleId>> candidates(std::string_view key) const override {
    std::call_once(keys_once_, [this] { fill_keys(); });
    std::vector<SampleId> found;
    const auto [begin, end] = keys_.equal_range(key_hash(key));
    for (auto it = begin; it != end; ++it) found.push_back(it->second);
    std::ranges::sort(found, {}, [](SampleId id) { return std::pair(id.shard, id.sample); });
    return found;
  }

 protected:
  /// Call once, with the shards in order.
  void set_shards(std::vector<std::shared_ptr<const ShardIndex>> indexes,
                  const std::vector<uint64_t>& bytes) {
    indexes_ = std::move(indexes);
    table_.bytes = bytes;
    for (size_t s = 0; s < indexes_.size(); ++s) {
      table_.samples.push_back(indexes_[s]->size());
      table_.block_samples.push_back(block_samples(*indexes_[s], bytes[s]));
    }
    manifest_.samples = table_.total_samples();
    manifest_.shards = table_.size();
    manifest_.bytes = table_.total_bytes();
    summarise_fields();
    fingerprint_ = sha256_hex(as_bytes(content()));
  }

  Manifest manifest_;

 private:
  void summarise_fields() {
    std::vector<FieldSummary>& out = manifest_.fields;
    for (const auto& index : indexes_) {
      std::vector<size_t> numbers;
      for (const std::string& name : index->fields()) {
        const auto known = std::ranges::find(out, name, &FieldSummary::name);
        numbers.push_back(static_cast<size_t>(known - out.begin()));
        if (known == out.end()) out.push_back({.name = name, .min_bytes = ~uint64_t{0}});
      }
      for (uint32_t i = 0; i < index->size(); ++i)
        for (const IndexMember& member : index->members(i)) {
          FieldSummary& field = out[numbers[member.field]];
          ++field.count;
          field.bytes += member.size;
          field.min_bytes = std::min(field.min_bytes, member.size);
          field.max_bytes = std::max(field.max_bytes, member.size);
        }
    }
    std::ranges::sort(out, {}, &FieldSummary::name);
  }

  /// What the fingerprint is made of: sizes, places and keys, not where the data lies.
  std::string content() const {
    std::string text;
    for (size_t s = 0; s < indexes_.size(); ++s) {
      Xxh3Stream keys;
      for (uint32_t i = 0; i < indexes_[s]->size(); ++i) {
        keys.update(as_bytes(indexes_[s]->key(i)));
        for (const IndexMember& member : indexes_[s]->members(i))
          keys.update(as_bytes(indexes_[s]->fields()[member.field] + std::to_string(member.size)));
      }
      text += std::to_string(table_.bytes[s]) + ":" + hex64(keys.digest()) + "\n";
    }
    return text;
  }

  void fill_keys() const {
    for (uint32_t s = 0; s < indexes_.size(); ++s)
      for (uint32_t i = 0; i < indexes_[s]->size(); ++i)
        keys_.emplace(key_hash(indexes_[s]->key(i)), SampleId{s, i});
  }

  ShardTable table_;
  std::string fingerprint_;
  std::vector<std::shared_ptr<const ShardIndex>> indexes_;
  mutable std::once_flag keys_once_;
  mutable std::unordered_multimap<uint64_t, SampleId> keys_;
};

/// An object by its full path.
Result<std::unique_ptr<ByteSource>> open_path(const std::string& path, const CacheUse& cache) {
  HR_TRY(auto source, open_url(path));
  return cache.wrap(std::move(source));
}

/// `paths`: as they are opened, which may be with a query.
class ArchiveCatalog final : public MemoryCatalog {
 public:
  ArchiveCatalog(Container container, std::vector<std::string> paths,
                 std::vector<std::shared_ptr<const ShardIndex>> indexes,
                 const std::vector<uint64_t>& bytes,
                 std::vector<std::shared_ptr<const ByteSource>> spooled, CacheUse cache)
      : paths_(std::move(paths)), spooled_(std::move(spooled)), cache_(std::move(cache)) {
    manifest_.container = container;
    set_shards(std::move(indexes), bytes);
  }

  bool is_remote() const override {
    return std::ranges::any_of(paths_, [](const auto& path) { return is_remote_location(path); });
  }
  Result<std::string> shard_name(uint32_t shard) const override {
    return std::string(without_query(paths_[shard]));
  }
  Result<std::shared_ptr<const ByteSource>> open_shard(uint32_t shard) const override {
    if (spooled_[shard]) return spooled_[shard];
    HR_TRY(std::shared_ptr<const ByteSource> source, open_path(paths_[shard], cache_));
    if (source->size() != table().bytes[shard])
      return Error{.code = Code::kChanged,
                   .message = "the shard had " + std::to_string(table().bytes[shard]) +
                              " bytes when it was opened, and has " +
                              std::to_string(source->size()) + " now",
                   .origin = {.shard = source->name()}};
    return source;
  }
  Result<std::unique_ptr<ByteSource>> open_file(std::string_view path) const override {
    return open_path(std::string(path), cache_);
  }
  Result<std::unique_ptr<ByteSource>> open_known_file(std::string_view path,
                                                      uint64_t) const override {
    return open_file(path);
  }

 private:
  const std::vector<std::string> paths_;
  const std::vector<std::shared_ptr<const ByteSource>> spooled_;  // else nullptr
  const CacheUse cache_;
};

class LooseCatalog final : public MemoryCatalog {
 public:
  LooseCatalog(std::shared_ptr<Store> store, LooseFiles files,
               const std::shared_ptr<NodeCache>& cache)
      : store_(std::move(store)), cache_(cache, store_->name()) {
    manifest_.container = Container::kFiles;
    set_shards(std::move(files.shards), files.bytes);
  }

  bool is_remote() const override { return is_remote_location(store_->name()); }
  Result<std::string> shard_name(uint32_t) const override { return store_->name(); }
  Result<std::shared_ptr<const ByteSource>> open_shard(uint32_t shard) const override {
    return Error{.message = "loose files have no archive number " + std::to_string(shard)};
  }
  Result<std::unique_ptr<ByteSource>> open_file(std::string_view path) const override {
    HR_TRY(auto source, store_->open(std::string(path)));
    return cache_.wrap(std::move(source));
  }
  Result<std::unique_ptr<ByteSource>> open_known_file(std::string_view path,
                                                      uint64_t bytes) const override {
    HR_TRY(auto source, store_->open_known(std::string(path), bytes));
    return cache_.wrap(std::move(source));
  }

 private:
  const std::shared_ptr<Store> store_;
  const CacheUse cache_;
};

struct IndexedShard {
  std::shared_ptr<const ShardIndex> index;
  uint64_t bytes = 0;
  std::shared_ptr<const ByteSource> spooled = {};  ///< not to be streamed a second time
};

Result<IndexedShard> index_shard(const std::string& folder, const std::string& path,
                                 const KeyRule& rule, const CacheUse& cache) {
  HR_TRY(std::shared_ptr<const ByteSource> source, open_path(path, cache));
  const auto read = [&](uint64_t offset, MutableBytes into) {
    return source->read_at(offset, into);
  };
  const Container container = container_of(path).value_or(Container::kTar);
  const std::string_view name = without_query(path).substr(folder.size());
  HR_TRY(auto archive, index_container(source, container, name, rule, read));
  return IndexedShard{std::make_shared<const ShardIndex>(archive.builder.take()), source->size(),
                      source->is_spooled() ? source : nullptr};
}

}  // namespace

Result<std::unique_ptr<Catalog>> index_archives(const std::string& folder,
                                                const std::vector<std::string>& paths,
                                                const OpenOptions& options,
                                                const std::shared_ptr<NodeCache>& cache) {
  HR_TRY(const KeyRule rule, KeyRule::parse(options.key_rule));
  HR_TRY(const Container container, common_container(paths));
  const CacheUse use(cache, split_location(paths.front()).folder);
  std::vector<IndexedShard> shards(paths.size());
  HR_CHECK(for_each(paths.size(), thread_count(options.threads), [&](uint64_t s) -> Status {
    HR_TRY(shards[s], index_shard(folder, paths[s], rule, use));
    return {};
  }));

  std::vector<std::shared_ptr<const ShardIndex>> indexes;
  std::vector<uint64_t> bytes;
  std::vector<std::shared_ptr<const ByteSource>> spooled;
  for (const IndexedShard& shard : shards) {
    indexes.push_back(shard.index);
    bytes.push_back(shard.bytes);
    spooled.push_back(shard.spooled);
  }
  return std::unique_ptr<Catalog>(std::make_unique<ArchiveCatalog>(
      container, paths, std::move(indexes), bytes, std::move(spooled), use));
}

Result<std::unique_ptr<Catalog>> index_loose_files(std::shared_ptr<Store> store,
                                                   const OpenOptions& options,
                                                   const std::shared_ptr<NodeCache>& cache) {
  HR_TRY(const KeyRule rule, KeyRule::parse(options.key_rule));
  HR_TRY(LooseFiles files, group_loose_files(*store, rule));
  return std::unique_ptr<Catalog>(
      std::make_unique<LooseCatalog>(std::move(store), std::move(files), cache));
}

}  // namespace headrace
