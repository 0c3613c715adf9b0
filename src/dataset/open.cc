#include "dataset/open.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/try.h"
#include "dataset/containers.h"
#include "io/urls.h"

namespace headrace {
namespace {

bool is_archive_name(std::string_view path) { return container_of(path).has_value(); }

Error nothing_at(const std::string& location) {
  return {.code = Code::kNotFound,
          .message = "there is no data set",
          .origin = {.shard = location},
          .hint = "Name a folder with headrace.json, shards, or a folder of files."};
}

Error half_packed(const std::string& location) {
  return {.code = Code::kPartial,
          .message = "the data set was not finished: a job began to write it and has not ended",
          .origin = {.shard = location},
          .hint = "Give the same command again to finish it."};
}

bool is_columns_name(std::string_view path) { return path.ends_with(".arrow"); }

Error columns_at(const std::string& location) {
  return {.code = Code::kUsage,
          .message = "the data set consists of Arrow files, which are not read yet",
          .origin = {.shard = location},
          .hint = "Write it as Parquet ('Dataset.to_parquet'), which is read."};
}

/// A pattern in a URL, `hf://datasets/org/name/train-*.tar`, is matched against the listing of the
/// folder before its first special character. '*' does not match '/'.
Status expand_pattern(const std::string& location, std::vector<std::string>* out) {
  // The '?' of an address begins its query, which is for one object.
  const bool has_query = without_query(location).size() < location.size();
  const size_t special = has_query ? std::string::npos : location.find_first_of("*?[");
  const size_t slash = location.rfind('/', special);
  if (special == std::string::npos || url_scheme(location).empty() || slash == std::string::npos) {
    out->push_back(location);
    return {};
  }
  HR_TRY(const auto store, open_store(location.substr(0, slash)));
  HR_TRY(const auto entries, store->list(""));
  const std::string pattern = location.substr(slash + 1);
  const size_t before = out->size();
  for (const StoreEntry& entry : entries)
    if (::fnmatch(pattern.c_str(), entry.path.c_str(), FNM_PATHNAME) == 0)
      out->push_back(store->name() + "/" + entry.path);
  if (out->size() > before) return {};
  return Error{.code = Code::kNotFound,
               .message = "no object matches the pattern",
               .origin = {.shard = location}};
}

/// The deepest folder that holds all of them, with its '/'.
std::string common_folder(const std::vector<std::string>& paths) {
  std::string folder(without_query(paths.front()));
  for (const std::string& path : paths)
    while (!folder.ends_with('/') || !path.starts_with(folder)) {
      const size_t slash =
          folder.size() < 2 ? std::string::npos : folder.rfind('/', folder.size() - 2);
      if (slash == std::string::npos) return "";
      folder.resize(slash + 1);
    }
  return folder;
}

/// A folder: its manifest, else its shards, else its files.
Result<std::unique_ptr<Catalog>> open_folder(const std::string& folder, const OpenOptions& options,
                                             const std::shared_ptr<NodeCache>& cache) {
  HR_TRY(const auto store, open_store(folder));
  const auto manifest = store->read(kManifestName);
  if (manifest.ok()) return open_manifest_catalog(store, *manifest, cache);
  if (manifest.error().code != Code::kNotFound) return manifest.error();
  HR_TRY(const bool pending, store->exists(kPendingName));
  if (pending) return half_packed(folder);
  HR_TRY(const auto entries, store->list(""));
  if (entries.empty()) return nothing_at(folder);
  std::vector<std::string> archives;
  for (const StoreEntry& entry : entries)
    if (is_archive_name(entry.path)) archives.push_back(store->name() + "/" + entry.path);
  if (!archives.empty()) return index_archives(store->name() + "/", archives, options, cache);
  if (std::ranges::any_of(entries, is_columns_name, &StoreEntry::path)) return columns_at(folder);
  HR_TRY(auto loose, index_loose_files(store, options, cache));
  if (loose->manifest().samples == 0) return nothing_at(folder);  // as where a job is but planned
  return loose;
}

}  // namespace

Result<std::unique_ptr<Catalog>> open_catalog(const std::vector<std::string>& locations,
                                              const OpenOptions& options,
                                              const std::shared_ptr<NodeCache>& cache) {
  HR_TRY(const std::vector<std::string> named, expand_locations(locations));
  std::vector<std::string> paths;
  for (const std::string& location : named) HR_CHECK(expand_pattern(location, &paths));
  if (paths.empty())
    return Error{.code = Code::kUsage, .message = "no location of a data set was given"};
  if (std::ranges::all_of(paths, is_archive_name))
    return index_archives(common_folder(paths), paths, options, cache);
  if (paths.size() > 1)
    return Error{
        .code = Code::kUsage,
        .message = "several locations make one data set only if all are shards, but '" +
                   std::string(without_query(*std::ranges::find_if_not(paths, is_archive_name))) +
                   "' is none",
        .hint = "Open them one by one and mix them."};
  std::string folder = paths.front();
  if (folder.ends_with(std::string("/") + kManifestName))
    folder.resize(folder.size() - std::string_view(kManifestName).size() - 1);
  else if (folder == kManifestName)
    folder = ".";
  return open_folder(folder, options, cache);
}

}  // namespace headrace
