#include "job/index_known.h"

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "job/modified.h"

namespace headrace {
namespace {

using nlohmann::json;

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
  if (manifest->container == Container::kFiles || manifest->base != base ||
      !recipe.contains("options") || recipe["options"] != json::parse(options_json))
    return known;
  auto shards = PublishedShards::open(*store, *manifest);
  if (!shards.ok()) return known;  // damaged: everything is read again
  known.shards_ = std::move(*shards);
  for (uint64_t i = 0; i < known.shards_->size(); ++i) known.numbers_[known.shards_->name(i)] = i;
  // Nothing is older if the store cannot say.
  known.written_ns_ = modified_ns(*store, kManifestName).value_or(INT64_MIN);
  return known;
}

Result<std::optional<ShardRecord>> KnownShards::find(const std::string& name, uint64_t bytes,
                                                     int64_t mtime_ns) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end() || shards_->bytes(found->second) != bytes || mtime_ns >= written_ns_)
    return std::optional<ShardRecord>();
  auto record = shards_->record(found->second);
  if (!record.ok() && record.error().code != Code::kCorrupt) return std::move(record).error();
  return record.ok() ? std::optional(std::move(*record)) : std::nullopt;
}

}  // namespace headrace
