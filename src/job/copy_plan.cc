#include "job/copy_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/digest.h"
#include "base/parallel.h"
#include "base/try.h"
#include "dataset/catalog.h"
#include "dataset/containers.h"
#include "io/urls.h"
#include "job/name_rule.h"
#include "job/published_shards.h"

namespace headrace {
namespace {

constexpr unsigned kRemoteThreads = 32;

void add_tables(const Manifest& manifest, std::vector<CopyObject>& objects) {
  const auto add = [&](const TableFile& table) {
    objects.push_back({table.path, table.bytes, 0, table.sha256, false});
  };
  for (const TableFile& table : manifest.index_files) add(table);
  for (const TableFile* table : {&manifest.key_table, &manifest.place_table, &manifest.shard_table})
    add(*table);
}

Status add_archives(const Catalog& catalog, const std::string& folder,
                    std::vector<CopyObject>& objects) {
  for (uint32_t shard = 0; shard < catalog.table().size(); ++shard) {
    HR_TRY(const std::string name, catalog.shard_name(shard));
    HR_TRY(const uint64_t checksum, catalog.shard_checksum(shard));
    objects.push_back({name.substr(folder.size()), catalog.table().bytes[shard], checksum});
  }
  return {};
}

Status add_loose_files(const Catalog& catalog, std::vector<CopyObject>& objects) {
  std::set<std::string, std::less<>> known;
  for (uint32_t shard = 0; shard < catalog.table().size(); ++shard) {
    HR_TRY(const auto index, catalog.load_index(shard));
    for (uint32_t sample = 0; sample < index->size(); ++sample)
      for (const IndexMember& member : index->members(sample))
        if (const auto path = index->object(member.object); known.emplace(path).second)
          objects.push_back({std::string(path), member.size});
  }
  return {};
}

Error same_name(const std::string& name) {
  return {.code = Code::kUsage,
          .message = "several objects would have the name '" + name + "'",
          .hint = "Keep in the new name what tells them apart."};
}

// Names alone change: the bytes of the objects, their order and the index are what they were.
Status rename(const NameRule& rule, std::vector<CopyObject>& objects) {
  std::set<std::string> names;
  for (CopyObject& object : objects) {
    if (object.is_shard) {
      HR_TRY(object.name, rule.apply(object.path));
    }
    if (!names.insert(object.to()).second) return same_name(object.to());
  }
  return {};
}

// Of objects without a manifest.
Status rename_all(const std::string& transform, std::vector<CopyObject>& objects) {
  if (transform.empty()) return {};
  HR_TRY(const NameRule rule, NameRule::parse(transform));
  return rename(rule, objects);
}

// Shards that are named one by one, also by addresses with a query, which no store takes.
Result<CopyPlan> plan_shards(const std::vector<std::string>& addresses,
                             const std::string& transform) {
  CopyPlan plan;
  plan.objects.resize(addresses.size());
  std::set<std::string> names;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const std::string name = split_location(addresses[i]).name;
    if (!names.insert(name).second) return same_name(name);
    plan.objects[i].path = name;
    plan.objects[i].address = addresses[i];
  }
  HR_CHECK(for_each(addresses.size(), kRemoteThreads, [&](uint64_t i) -> Status {
    HR_TRY(const auto object, open_url(addresses[i]));
    plan.objects[i].bytes = object->size();
    return {};
  }));
  HR_CHECK(rename_all(transform, plan.objects));
  return plan;
}

// The table that names the shards, as it is in the copy.
Status rename_in_table(const Store& store, const std::vector<CopyObject>& objects,
                       Manifest& manifest, CopyObject& table) {
  HR_TRY(const auto shards, PublishedShards::open(store, manifest));
  std::vector<std::string> names(shards.size());
  for (size_t shard = 0; shard < names.size(); ++shard) {
    names[shard] = objects[shard].to();  // they come first, in order
    if (container_of(names[shard]) != manifest.container)
      return Error{.code = Code::kUsage,
                   .message = "'" + names[shard] + "' is no name of a shard of " +
                              std::string(container_name(manifest.container)),
                   .hint = "Keep the ending."};
    if (names[shard].starts_with(std::string(kTableFolder) + "/"))
      return Error{.code = Code::kUsage,
                   .message = "'" + names[shard] + "' lies in the folder of the tables"};
  }
  table.made = std::make_shared<const std::string>(encode_place_table(shards.places(), names));
  table.bytes = table.made->size();
  table.sha256 = sha256_hex(as_bytes(*table.made));
  table.name = std::string(kTableFolder) + "/places-" + table.sha256.substr(0, 16) + ".bin";
  manifest.place_table = {table.name, table.bytes, table.sha256};
  return {};
}

Status transform_data_set(const NameRule& rule, Manifest& manifest, CopyPlan& plan) {
  if (manifest.container == Container::kFiles)
    return Error{.code = Code::kUsage,
                 .message = "the names of loose files are their samples' keys, and stay",
                 .hint = "'headrace pack --key' gives other keys."};
  HR_CHECK(rename(rule, plan.objects));
  for (CopyObject& object : plan.objects)
    if (object.path == manifest.place_table.path && !object.is_shard)
      return rename_in_table(*plan.tables, plan.objects, manifest, object);
  return {};
}

Result<CopyPlan> plan_data_set(const std::shared_ptr<Store>& store, const std::string& transform) {
  CopyPlan plan{.tables = store, .data = store, .objects = {}, .root = {}};
  HR_TRY(plan.root, store->read(kManifestName));
  HR_TRY(Manifest manifest,
         decode_manifest(as_bytes(plan.root), store->name() + "/" + kManifestName));
  HR_TRY(const auto catalog, open_manifest_catalog(store, plan.root));
  if (!manifest.base.empty()) {  // the copy has its shards beside the manifest
    HR_TRY(plan.data, data_store(store, manifest.base));
    manifest.base.clear();
    plan.root = encode_manifest(manifest);
  }
  if (manifest.container == Container::kFiles)
    HR_CHECK(add_loose_files(*catalog, plan.objects));
  else
    HR_CHECK(add_archives(*catalog, plan.data->name() + "/", plan.objects));
  add_tables(manifest, plan.objects);
  if (transform.empty()) return plan;
  HR_TRY(const NameRule rule, NameRule::parse(transform));
  HR_CHECK(transform_data_set(rule, manifest, plan));
  plan.root = encode_manifest(manifest);
  return plan;
}

}  // namespace

uint64_t CopyPlan::bytes() const {
  return std::accumulate(objects.begin(), objects.end(), uint64_t{0},
                         [](uint64_t sum, const CopyObject& one) { return sum + one.bytes; });
}

std::string CopyPlan::digest() const { return sha256_hex(as_bytes("copy\n" + root)); }

Result<CopyPlan> plan_copy(const std::string& source, const std::string& transform) {
  HR_TRY(const auto named, expand_locations({source}));
  const auto is_shard = [](const std::string& name) { return container_of(name).has_value(); };
  if (!named.empty() && std::ranges::all_of(named, is_shard)) return plan_shards(named, transform);
  HR_TRY(const auto store, open_store(source));
  HR_TRY(const bool has_manifest, store->exists(kManifestName));
  if (has_manifest) return plan_data_set(store, transform);
  HR_TRY(const bool pending, store->exists(kPendingName));
  if (pending)
    return Error{.code = Code::kPartial,
                 .message =
                     "the data set was not finished: a job began to write it and has not "
                     "ended",
                 .origin = {.shard = source}};
  CopyPlan plan{.tables = store, .data = store, .objects = {}, .root = {}};
  HR_TRY(const auto entries, store->list(""));
  for (const StoreEntry& entry : entries) plan.objects.push_back({entry.path, entry.bytes});
  if (plan.objects.empty())
    return Error{.code = Code::kNotFound,
                 .message = "there is nothing to copy",
                 .origin = {.shard = source}};
  HR_CHECK(rename_all(transform, plan.objects));
  return plan;
}

}  // namespace headrace
