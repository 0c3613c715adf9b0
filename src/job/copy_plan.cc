#include "job/copy_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/digest.h"
#include "base/try.h"
#include "dataset/catalog.h"

namespace headrace {
namespace {

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

Result<CopyPlan> plan_data_set(const std::shared_ptr<Store>& store) {
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
  return plan;
}

}  // namespace

uint64_t CopyPlan::bytes() const {
  return std::accumulate(objects.begin(), objects.end(), uint64_t{0},
                         [](uint64_t sum, const CopyObject& one) { return sum + one.bytes; });
}

std::string CopyPlan::digest() const { return sha256_hex(as_bytes("copy\n" + root)); }

Result<CopyPlan> plan_copy(const std::string& source) {
  HR_TRY(const auto store, open_store(source));
  HR_TRY(const bool has_manifest, store->exists(kManifestName));
  if (has_manifest) return plan_data_set(store);
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
  return plan;
}

}  // namespace headrace
