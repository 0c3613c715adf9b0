// The catalog of a data set that has a manifest. Opening reads the root and the shard table;
// places, index sections and keys are read by ranges when asked for.
#include <algorithm>
#include <array>
#include <mutex>

#include "base/digest.h"
#include "base/try.h"
#include "dataset/catalog.h"
#include "dataset/key_table.h"
#include "io/memory_store.h"
#include "io/read_whole.h"
#include "io/urls.h"

namespace headrace {
namespace {

constexpr uint64_t kSmallTables = uint64_t{16} << 20;

// The manifest's checksum tells the cache which bytes these are, so that nobody asks the store.
Result<std::unique_ptr<ByteSource>> open_table(const Store& store, const CacheUse& cache,
                                               const TableFile& file) {
  auto source = store.open_known(file.path, file.bytes);
  if (!source.ok() && source.error().code == Code::kNotFound)
    return Error{.code = Code::kNotFound,
                 .message = "a table that the manifest names is missing",
                 .origin = {.shard = store.name() + "/" + file.path},
                 .hint =
                     "Copy it from where the data set came from, or make all tables again with "
                     "'headrace index --replace'."};
  if (!source.ok()) return std::move(source).error();
  return cache.wrap(*std::move(source), "sha256 " + file.sha256);
}

/// Tables that came with opening; null: to be opened when they are needed.
struct EarlyTables {
  std::string shards;
  std::unique_ptr<ByteSource> places;
  std::vector<std::unique_ptr<ByteSource>> indexes;
};

/// The shard table, and those of a small remote data set with it, whole and at once: its first
/// batch then waits neither for one after the other nor for each shard's part of them. A table that
/// does not come is met again when it is needed; the shard table is needed now.
Result<EarlyTables> open_early_tables(const Store& store, const CacheUse& cache,
                                      const Manifest& manifest) {
  uint64_t bytes = manifest.shard_table.bytes + manifest.place_table.bytes;
  for (const TableFile& file : manifest.index_files) bytes += file.bytes;
  const bool all = is_remote_location(store.name()) && bytes <= kSmallTables;
  std::vector<const TableFile*> files = {&manifest.shard_table};
  if (all) files.push_back(&manifest.place_table);
  for (const TableFile& file : manifest.index_files)
    if (all) files.push_back(&file);

  std::vector<std::unique_ptr<ByteSource>> sources;
  for (const TableFile* file : files) {
    HR_TRY(auto source, open_table(store, cache, *file));
    sources.push_back(std::move(source));
  }
  auto tables = read_whole(sources);
  const auto in_memory = [&](size_t i) -> std::unique_ptr<ByteSource> {
    if (!all || !tables[i].ok()) return nullptr;
    return open_bytes(sources[i]->name(), std::make_shared<std::string>(*std::move(tables[i])));
  };
  EarlyTables early;
  HR_TRY(early.shards, std::move(tables.front()));
  early.places = in_memory(1);
  for (size_t i = 0; i < manifest.index_files.size(); ++i)
    early.indexes.push_back(in_memory(2 + i));
  return early;
}

class ManifestCatalog final : public Catalog {
 public:
  ManifestCatalog(std::shared_ptr<Store> store, std::shared_ptr<Store> data,
                  const std::shared_ptr<NodeCache>& cache, Manifest manifest, ShardTable table,
                  EarlyTables early)
      : store_(std::move(store)),
        data_(std::move(data)),
        store_cache_(cache, store_->name()),
        data_cache_(data_ == store_ ? store_cache_ : CacheUse(cache, data_->name())),
        manifest_(std::move(manifest)),
        fingerprint_(manifest_.fingerprint()),
        table_(std::move(table)),
        place_source_(std::move(early.places)),
        index_sources_(std::move(early.indexes)) {}

  const std::string& fingerprint() const override { return fingerprint_; }
  const Manifest& manifest() const override { return manifest_; }
  const ShardTable& table() const override { return table_; }
  bool has_manifest() const override { return true; }
  bool is_remote() const override { return is_remote_location(data_->name()); }

  Result<std::string> shard_name(uint32_t shard) const override {
    HR_TRY(const ShardPlace place, read_place(shard));
    HR_TRY(const std::string path, shard_path(place));
    return data_->name() + "/" + path;
  }

  Result<uint64_t> shard_checksum(uint32_t shard) const override {
    HR_TRY(const ShardPlace place, read_place(shard));
    return place.shard_xxh3;
  }

  Result<std::shared_ptr<const ShardIndex>> load_index(uint32_t shard) const override {
    HR_TRY(const ShardPlace place, read_place(shard));
    HR_TRY(const auto source, index_source(place.index_file));
    if (place.index_offset > source->size() ||
        place.index_bytes > source->size() - place.index_offset)
      return bad_section(*source, shard, place.index_offset, "lies outside of its file");
    // Not a string or a vector: they would write zeros first.
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(place.index_bytes);
    const MutableBytes section(memory.get(), place.index_bytes);
    HR_CHECK(source->read_at(place.index_offset, section));
    if (xxh3(section) != place.index_xxh3)
      return bad_section(*source, shard, place.index_offset, "does not have its checksum");
    const bool archive = manifest_.container != Container::kFiles;
    HR_TRY(auto index, ShardIndex::decode(section, archive ? table_.bytes[shard] : ~uint64_t{0},
                                          {.shard = source->name(), .offset = place.index_offset}));
    if (index.size() != table_.samples[shard])
      return bad_section(*source, shard, place.index_offset,
                         "has " + std::to_string(index.size()) + " samples instead of " +
                             std::to_string(table_.samples[shard]));
    return std::make_shared<const ShardIndex>(std::move(index));
  }

  Result<std::shared_ptr<const ByteSource>> open_shard(uint32_t shard) const override {
    HR_TRY(const ShardPlace place, read_place(shard));
    HR_TRY(const std::string path, shard_path(place));
    HR_TRY(auto source, data_->open_known(path, table_.bytes[shard]));
    const bool known = place.shard_xxh3 != 0;
    return std::shared_ptr<const ByteSource>(
        data_cache_.wrap(std::move(source), known ? "xxh3 " + hex64(place.shard_xxh3) : ""));
  }

  Result<std::unique_ptr<ByteSource>> open_file(std::string_view path) const override {
    HR_TRY(auto source, data_->open(std::string(path)));
    return data_cache_.wrap(std::move(source));
  }
  Result<std::unique_ptr<ByteSource>> open_known_file(std::string_view path,
                                                      uint64_t bytes) const override {
    HR_TRY(auto source, data_->open_known(std::string(path), bytes));
    return data_cache_.wrap(std::move(source));
  }

  Result<std::vector<SampleId>> candidates(std::string_view key) const override {
    HR_TRY(const KeyTable* table, key_table());
    HR_TRY(auto found, table->find(key_hash(key)));
    std::ranges::sort(found, {}, [](SampleId id) { return std::pair(id.shard, id.sample); });
    const auto outside = [this](SampleId id) {
      return id.shard >= table_.size() || id.sample >= table_.samples[id.shard];
    };
    if (std::ranges::any_of(found, outside))
      return Error{.code = Code::kCorrupt,
                   .message = "the key table names a sample that does not exist",
                   .origin = {.shard = store_->name() + "/" + manifest_.key_table.path}};
    return found;
  }

 private:
  static Error bad_section(const ByteSource& source, uint32_t shard, uint64_t offset,
                           const std::string& problem) {
    return {.code = Code::kCorrupt,
            .message = "the index section of shard number " + std::to_string(shard) + " " + problem,
            .origin = {.shard = source.name(), .offset = offset},
            .hint = "Run 'headrace index' again to rebuild the index."};
  }

  Result<const ByteSource*> place_source() const {
    std::scoped_lock lock(mutex_);
    if (!place_source_) {
      HR_TRY(place_source_, open_table(*store_, store_cache_, manifest_.place_table));
    }
    if (!places_checked_) {
      std::array<std::byte, kPlaceHeaderBytes> header{};
      HR_CHECK(place_source_->read_at(0, header));
      HR_CHECK(check_place_header(header, manifest_.shards, place_source_->name()));
      places_checked_ = true;
    }
    return place_source_.get();
  }

  Result<ShardPlace> read_place(uint32_t shard) const {
    HR_TRY(const ByteSource* source, place_source());
    std::array<std::byte, kPlaceBytes> record{};
    HR_CHECK(source->read_at(kPlaceHeaderBytes + kPlaceBytes * uint64_t{shard}, record));
    HR_TRY(const ShardPlace place, decode_place(record, source->name()));
    const uint64_t names = source->size() - place_names_offset(manifest_.shards);
    if (place.name_offset > names || place.name_bytes > names - place.name_offset ||
        place.index_file >= manifest_.index_files.size())
      return Error{.code = Code::kCorrupt,
                   .message = "the place of shard number " + std::to_string(shard) +
                              " points outside of its tables",
                   .origin = {.shard = source->name()}};
    return place;
  }

  Result<std::string> shard_path(const ShardPlace& place) const {
    HR_TRY(const ByteSource* source, place_source());
    std::string name(place.name_bytes, '\0');
    HR_CHECK(source->read_at(place_names_offset(manifest_.shards) + place.name_offset,
                             as_writable_bytes(name)));
    return name;
  }

  Result<const ByteSource*> index_source(uint32_t number) const {
    std::scoped_lock lock(mutex_);
    auto& source = index_sources_[number];
    if (!source) {
      HR_TRY(source, open_table(*store_, store_cache_, manifest_.index_files[number]));
    }
    return source.get();
  }

  Result<const KeyTable*> key_table() const {
    std::scoped_lock lock(mutex_);
    if (!key_table_) {
      HR_TRY(auto source, open_table(*store_, store_cache_, manifest_.key_table));
      HR_TRY(auto table, KeyTable::open(std::move(source), manifest_.samples));
      key_table_ = std::make_unique<const KeyTable>(std::move(table));
    }
    return key_table_.get();
  }

  const std::shared_ptr<Store> store_;  // of the manifest
  const std::shared_ptr<Store> data_;   // of the shards
  const CacheUse store_cache_;
  const CacheUse data_cache_;
  const Manifest manifest_;
  const std::string fingerprint_;
  const ShardTable table_;

  mutable std::mutex mutex_;  // guards the sources below, each opened once and then only read
  mutable std::unique_ptr<ByteSource> place_source_;
  mutable bool places_checked_ = false;
  mutable std::vector<std::unique_ptr<ByteSource>> index_sources_;
  mutable std::unique_ptr<const KeyTable> key_table_;
};

}  // namespace

Result<std::shared_ptr<Store>> data_store(const std::shared_ptr<Store>& store,
                                          const std::string& base) {
  if (base.empty()) return store;
  const bool absolute = base.starts_with('/') || base.find("://") != std::string::npos;
  return open_store(absolute ? base : store->name() + "/" + base);
}

Result<std::unique_ptr<Catalog>> open_manifest_catalog(std::shared_ptr<Store> store,
                                                       std::string_view root,
                                                       const std::shared_ptr<NodeCache>& cache) {
  HR_TRY(Manifest manifest, decode_manifest(as_bytes(root), store->name() + "/" + kManifestName));
  const std::string table_name = store->name() + "/" + manifest.shard_table.path;
  HR_TRY(EarlyTables early, open_early_tables(*store, CacheUse(cache, store->name()), manifest));
  if (sha256_hex(as_bytes(early.shards)) != manifest.shard_table.sha256)
    return Error{.code = Code::kCorrupt,
                 .message = "the table does not have the SHA-256 that the manifest names",
                 .origin = {.shard = table_name}};
  HR_TRY(ShardTable table, decode_shard_table(as_bytes(early.shards), table_name));
  if (table.size() != manifest.shards || table.total_samples() != manifest.samples)
    return Error{.code = Code::kCorrupt,
                 .message = "the shard table has " + std::to_string(table.size()) + " shards and " +
                            std::to_string(table.total_samples()) +
                            " samples, but the manifest says " + std::to_string(manifest.shards) +
                            " and " + std::to_string(manifest.samples),
                 .origin = {.shard = table_name}};
  HR_TRY(auto data, data_store(store, manifest.base));
  return std::unique_ptr<Catalog>(
      std::make_unique<ManifestCatalog>(std::move(store), std::move(data), cache,
                                        std::move(manifest), std::move(table), std::move(early)));
}

}  // namespace headrace
