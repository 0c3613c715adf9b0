#include "job/verify_objects.h"

#include <filesystem>
#include <unordered_set>

#include "base/try.h"
#include "headrace/notes.h"
#include "io/urls.h"
#include "job/versions.h"

namespace headrace {
namespace {

using Names = std::unordered_set<std::string>;

void know_tables(const Manifest& manifest, const std::string& folder, Names& known) {
  known.insert(folder + kManifestName);
  for (const TableFile* table : {&manifest.shard_table, &manifest.place_table, &manifest.key_table})
    known.insert(folder + table->path);
  for (const TableFile& table : manifest.index_files) known.insert(folder + table.path);
}

void know_files(const Catalog& catalog, const std::string& folder, Names& known) {
  for (uint32_t s = 0; s < catalog.table().size(); ++s) {
    const auto index = catalog.load_index(s);
    if (!index.ok()) continue;  // reported with the shard
    for (uint32_t i = 0; i < (*index)->size(); ++i)
      for (const IndexMember& member : (*index)->members(i))
        known.insert(folder + std::string((*index)->object(member.object)));
  }
}

/// Roots of the versions, and what those name that can be read.
void know_versions(const Store& store, const std::string& folder, Names& known) {
  const auto versions = read_versions(store);
  if (!versions.ok()) return;
  for (const Version& version : *versions) {
    known.insert(folder + version.path);
    const auto objects = version_objects(store, version);
    if (!objects.ok()) continue;
    for (const StoreEntry& object : *objects) known.insert(folder + object.path);
  }
}

bool is_table(const std::string& path) { return path.starts_with(std::string(kTableFolder) + "/"); }

void unexpected(std::string name, bool table, Findings& findings) {
  findings.add(Findings::kLast,
               {Severity::kWarning,
                FindingKind::kUnexpected,
                {.code = Code::kFailure,
                 .message = table ? "a table that the manifest does not name, left by an earlier "
                                    "or unfinished job"
                                  : "the manifest does not name this object",
                 .origin = {.shard = std::move(name)}}});
}

// `base` is absolute; so that a folder below it is known as such, however it was named.
std::string absolute(const std::string& folder) {
  if (!url_scheme(folder).empty()) return folder;
  std::error_code problem;
  const auto path = std::filesystem::weakly_canonical(folder, problem);
  return problem ? folder : path.string();
}

}  // namespace

Status check_objects(const std::shared_ptr<Store>& store, const Catalog& catalog,
                     const std::vector<std::string>& shards, Findings& findings) {
  const Manifest& manifest = catalog.manifest();
  HR_TRY(const auto data, data_store(store, manifest.base));
  const std::string beside = store->name() + "/";
  const std::string base = data->name() + "/";
  Names known(shards.begin(), shards.end());
  know_tables(manifest, beside, known);
  if (manifest.container == Container::kFiles) know_files(catalog, base, known);

  know_versions(*store, beside, known);

  const auto entries = store->list("");
  if (!entries.ok() && entries.error().code == Code::kUsage) {  // a web server
    note_once("'" + store->name() +
              "' gives no list, so objects that its manifest does not name are not noticed");
    return {};
  }
  if (!entries.ok()) return entries.error();
  for (const StoreEntry& entry : *entries)
    if (known.insert(beside + entry.path).second)
      unexpected(beside + entry.path, is_table(entry.path), findings);
  if (data == store) return {};
  HR_TRY(const auto others, data->list(""));
  const std::string inside = absolute(store->name()) + "/";
  for (const StoreEntry& entry : others) {
    // A manifest of its own, and its tables, are another data set's.
    if (entry.path == kManifestName || is_table(entry.path)) continue;
    const std::string name = base + entry.path;
    if (!name.starts_with(inside) && known.insert(name).second) unexpected(name, false, findings);
  }
  return {};
}

}  // namespace headrace
