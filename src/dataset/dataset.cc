#include "headrace/dataset.h"

#include <algorithm>
#include <cstring>

#include "base/try.h"
#include "dataset/catalog.h"
#include "dataset/containers.h"
#include "dataset/decoded_source.h"
#include "dataset/lru_cache.h"
#include "dataset/open.h"
#include "dataset/selected_catalog.h"
#include "io/direct_reads.h"
#include "io/memory_store.h"
#include "io/urls.h"

namespace headrace {
namespace {

constexpr uint64_t kNoBudget = ~uint64_t{0};

/// starts[s] = number of the first sample of shard s; one more at the end.
std::vector<uint64_t> first_samples(const ShardTable& table) {
  std::vector<uint64_t> starts(table.size() + 1);
  for (uint64_t s = 0; s < table.size(); ++s) starts[s + 1] = starts[s] + table.samples[s];
  return starts;
}

}  // namespace

class Dataset::Impl {
 public:
  Impl(std::string location, std::shared_ptr<const Catalog> catalog, bool cache_in_memory,
       uint64_t index_bytes, uint32_t open_shards, std::shared_ptr<const NodeCache> cache)
      : name_(std::move(location)),
        catalog_(std::move(catalog)),
        cache_in_memory_(cache_in_memory),
        index_bytes_(index_bytes),
        open_shards_(open_shards),
        cache_(std::move(cache)),
        starts_(first_samples(catalog_->table())),
        indexes_(cache_in_memory ? kNoBudget : index_bytes),
        sources_(cache_in_memory ? kNoBudget : open_shards,
                 [](const ByteSource& source) { return source.is_spooled(); }) {}

  Result<std::shared_ptr<const ShardIndex>> index(uint32_t shard) {
    return indexes_.get(
        shard, [&] { return catalog_->load_index(shard); },
        [](const ShardIndex& index) { return index.memory_bytes(); });
  }

  Result<std::shared_ptr<const ByteSource>> source(uint32_t shard, const ShardIndex& index,
                                                   uint32_t object) {
    if (!index.is_archive() && !cache_in_memory_) return open(shard, index, object);
    return sources_.get(
        uint64_t{shard} << 32 | object, [&] { return open(shard, index, object); },
        [](const ByteSource&) { return uint64_t{1}; });
  }

  const std::string name_;
  const std::shared_ptr<const Catalog> catalog_;
  const bool cache_in_memory_;
  const uint64_t index_bytes_;
  const uint32_t open_shards_;
  const std::shared_ptr<const NodeCache> cache_;  // of the node; nullptr: none
  const std::vector<uint64_t> starts_;
  const bool reads_directly_ = wants_direct_reads();

 private:
  Result<std::shared_ptr<const ByteSource>> open(uint32_t shard, const ShardIndex& index,
                                                 uint32_t object) {
    HR_TRY(auto source, open_object(shard, index, object));
    if (index.frames())
      source = std::make_shared<DecodedSource>(std::move(source), index.frames(), decoded_, shard);
    if (cache_in_memory_) {
      auto bytes = std::make_shared<std::string>(source->size(), '\0');
      HR_CHECK(source->read_at(0, as_writable_bytes(*bytes)));
      source = open_bytes(source->name(), std::move(bytes));
    }
    return source;
  }

  Result<std::shared_ptr<const ByteSource>> open_object(uint32_t shard, const ShardIndex& index,
                                                        uint32_t object) {
    if (index.is_archive()) return catalog_->open_shard(shard);
    HR_TRY(auto file, catalog_->open_known_file(index.object(object), index.object_bytes(object)));
    return std::shared_ptr<const ByteSource>(std::move(file));
  }

  LruCache<ShardIndex> indexes_;
  LruCache<ByteSource> sources_;
  const std::shared_ptr<DecodedFrames> decoded_ = DecodedFrames::make();
};

std::optional<ByteView> Sample::find(std::string_view name) const {
  const auto it = std::ranges::find(fields_, name, &Field::name);
  if (it == fields_.end()) return std::nullopt;
  return bytes(*it);
}

Result<std::shared_ptr<const Dataset>> Dataset::open(const std::vector<std::string>& locations,
                                                     const OpenOptions& options) {
  HR_TRY(CacheOptions cache_at, cache_options(options.cache_folder));
  const auto cache = cache_at.folder.empty() ? nullptr : NodeCache::open(std::move(cache_at));
  HR_TRY(auto catalog, open_catalog(locations, options, cache));
  auto impl = std::make_unique<Impl>(std::string(without_query(locations.front())),
                                     std::move(catalog), options.cache_in_memory,
                                     options.index_memory_bytes, options.open_shards, cache);
  return std::shared_ptr<const Dataset>(new Dataset(std::move(impl)));
}

Result<std::shared_ptr<const Dataset>> Dataset::select(const Dataset& whole, Selection selection) {
  HR_TRY(auto catalog, select_from(whole.impl_->catalog_, std::move(selection)));
  auto impl = std::make_unique<Impl>(whole.name(), std::move(catalog),
                                     whole.impl_->cache_in_memory_, whole.impl_->index_bytes_,
                                     whole.impl_->open_shards_, whole.impl_->cache_);
  return std::shared_ptr<const Dataset>(new Dataset(std::move(impl)));
}

Dataset::Dataset(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Dataset::~Dataset() = default;

uint64_t Dataset::size() const { return impl_->starts_.back(); }
uint32_t Dataset::shards() const { return static_cast<uint32_t>(impl_->starts_.size() - 1); }
const std::string& Dataset::name() const { return impl_->name_; }
const std::string& Dataset::fingerprint() const { return impl_->catalog_->fingerprint(); }
const Manifest& Dataset::manifest() const { return impl_->catalog_->manifest(); }
const ShardTable& Dataset::table() const { return impl_->catalog_->table(); }
bool Dataset::has_manifest() const { return impl_->catalog_->has_manifest(); }
bool Dataset::is_remote() const {
  const Catalog& catalog = *impl_->catalog_;
  return !impl_->cache_in_memory_ && (catalog.is_remote() || impl_->reads_directly_ ||
                                      is_compressed(catalog.manifest().container));
}

CacheCounters Dataset::cache_counters() const {
  return impl_->cache_ ? impl_->cache_->counters() : CacheCounters{};
}

Result<std::string> Dataset::shard_name(uint32_t shard) const {
  return impl_->catalog_->shard_name(shard);
}

Result<uint64_t> Dataset::shard_checksum(uint32_t shard) const {
  return impl_->catalog_->shard_checksum(shard);
}

Result<std::shared_ptr<const ShardIndex>> Dataset::index(uint32_t shard) const {
  return impl_->index(shard);
}

Result<std::shared_ptr<const ByteSource>> Dataset::source(uint32_t shard, const ShardIndex& index,
                                                          uint32_t object) const {
  return impl_->source(shard, index, object);
}

Result<std::shared_ptr<const ByteSource>> Dataset::open_shard(uint32_t shard) const {
  return impl_->catalog_->open_shard(shard);
}

SampleId Dataset::locate(uint64_t i) const {
  const auto& starts = impl_->starts_;
  const auto after = std::ranges::upper_bound(starts, i);
  const auto shard = static_cast<uint32_t>(after - starts.begin() - 1);
  return {shard, static_cast<uint32_t>(i - starts[shard])};
}

Result<std::vector<SampleId>> Dataset::find(std::string_view key) const {
  HR_TRY(auto found, impl_->catalog_->candidates(key));
  std::vector<SampleId> same;
  for (const SampleId id : found) {
    HR_TRY(const auto shard_index, index(id.shard));
    if (shard_index->key(id.sample) == key) same.push_back(id);
  }
  return same;
}

Result<Sample> Dataset::sample(SampleId id) const {
  HR_TRY(const auto shard_index, index(id.shard));
  std::vector<std::byte> bytes(shard_index->payload_bytes(id.sample));
  std::vector<Sample::Field> fields;
  size_t at = 0;
  for (const IndexMember& member : shard_index->members(id.sample)) {
    HR_TRY(const auto object, source(id.shard, *shard_index, member.object));
    if (auto status = object->read_at(member.offset, MutableBytes(bytes).subspan(at, member.size));
        !status.ok())
      return std::move(status).error().at(origin(id));
    fields.push_back({shard_index->fields()[member.field], at, member.size});
    at += member.size;
  }
  return Sample(std::string(shard_index->key(id.sample)), origin(id), std::move(fields),
                std::move(bytes));
}

Result<std::string> Dataset::key(SampleId id) const {
  HR_TRY(const auto shard_index, index(id.shard));
  return std::string(shard_index->key(id.sample));
}

Origin Dataset::origin(SampleId id) const {
  Origin origin;
  if (auto name = shard_name(id.shard); name.ok()) origin.shard = *name;
  if (auto shard_index = index(id.shard); shard_index.ok()) {
    const ShardIndex& known = **shard_index;
    origin.member = known.key(id.sample);
    if (known.is_archive()) origin.offset = known.sample_begin(id.sample);
  }
  return origin;
}

}  // namespace headrace
