#include "job/index_known.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/try.h"
#include "format/shard_index.h"
#include "io/urls.h"
#include "job/index_shard.h"

namespace headrace {
namespace {

using nlohmann::json;

// When the root was written; nothing is older if the store cannot say.
int64_t modified_ns(const Store& store) {
  struct stat info;
  if (::stat((store.name() + "/" + kManifestName).c_str(), &info) != 0) return INT64_MIN;
  return info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
}

}  // namespace

Result<KnownShards> KnownShards::read(const std::shared_ptr<Store>& store,
                                      const std::string& options_json, const std::string& base) {
  KnownShards known;
  HR_TRY(const bool there, store->exists(kManifestName));
  if (!there) return known;
  HR_TRY(const std::string text, store->read(kManifestName));
  auto manifest = decode_manifest(as_bytes(text), kManifestName);
  if (!manifest.ok()) return known;
  const json recipe = json::parse(manifest->recipe, nullptr, false);
  if (!recipe.is_object() || recipe.value("job", "") != "index") return known;
  known.made_by_index_ = true;
  if (manifest->container != Container::kTar || manifest->base != base ||
      !recipe.contains("options") || recipe["options"] != json::parse(options_json))
    return known;
  known.store_ = store;
  known.manifest_ = std::move(*manifest);
  known.written_ns_ = modified_ns(*store);
  if (!known.read_tables().ok()) known.shards_.clear();  // damaged: everything is read again
  return known;
}

Status KnownShards::read_tables() {
  HR_TRY(const std::string columns, store_->read(manifest_.shard_table.path));
  HR_TRY(const ShardTable table, decode_shard_table(as_bytes(columns), manifest_.shard_table.path));
  const std::string& path = manifest_.place_table.path;
  HR_TRY(const std::string places, store_->read(path));
  const ByteView bytes = as_bytes(places);
  const Error damaged{.code = Code::kCorrupt, .message = "the place table is damaged"};
  if (sha256_hex(bytes) != manifest_.place_table.sha256 ||
      sha256_hex(as_bytes(columns)) != manifest_.shard_table.sha256 ||
      bytes.size() < place_names_offset(table.size()))
    return damaged;
  HR_CHECK(check_place_header(bytes.first(kPlaceHeaderBytes), table.size(), path));
  const std::string_view names = as_text(bytes.subspan(place_names_offset(table.size())));
  for (uint64_t shard = 0; shard < table.size(); ++shard) {
    HR_TRY(const ShardPlace place,
           decode_place(bytes.subspan(kPlaceHeaderBytes + shard * kPlaceBytes, kPlaceBytes), path));
    if (place.name_offset > names.size() || place.name_bytes > names.size() - place.name_offset ||
        place.index_file >= manifest_.index_files.size())
      return damaged;
    shards_[std::string(names.substr(place.name_offset, place.name_bytes))] = {
        place, table.samples[shard], table.block_samples[shard], table.bytes[shard]};
  }
  for (const TableFile& file : manifest_.index_files) {
    HR_TRY(auto source, store_->open(file.path));
    index_files_.push_back(std::move(source));
  }
  return {};
}

Result<std::optional<ShardRecord>> KnownShards::find(const std::string& name, uint64_t bytes,
                                                     int64_t mtime_ns) const {
  const auto found = shards_.find(name);
  if (found == shards_.end() || found->second.bytes != bytes || mtime_ns >= written_ns_)
    return std::optional<ShardRecord>();
  const ShardPlace& place = found->second.place;
  const ByteSource& file = *index_files_[place.index_file];
  if (place.index_offset > file.size() || place.index_bytes > file.size() - place.index_offset)
    return std::optional<ShardRecord>();
  ShardRecord record;
  record.section.resize(place.index_bytes);
  HR_CHECK(file.read_at(place.index_offset, as_writable_bytes(record.section)));
  const auto index = ShardIndex::decode(as_bytes(record.section), bytes, {name});
  if (xxh3(as_bytes(record.section)) != place.index_xxh3 || !index.ok())
    return std::optional<ShardRecord>();
  record.name = name;
  record.bytes = bytes;
  record.xxh3 = place.shard_xxh3;
  record.samples = found->second.samples;
  record.block_samples = found->second.block_samples;
  record.fields = summarise(*index);
  return std::optional(std::move(record));
}

}  // namespace headrace
