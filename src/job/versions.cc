#include "job/versions.h"

#include <algorithm>
#include <charconv>

#include "base/try.h"
#include "job/fault_point.h"
#include "job/published_shards.h"

namespace headrace {
namespace {

std::string path_of(uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
  return kVersionFolder + digits + ".json";
}

std::optional<uint64_t> number_of(const std::string& path) {
  const std::string_view folder = kVersionFolder;
  if (!path.starts_with(folder) || !path.ends_with(".json")) return std::nullopt;
  const char* const begin = path.data() + folder.size();
  const char* const end = path.data() + path.size() - 5;
  uint64_t number = 0;
  const auto [stop, problem] = std::from_chars(begin, end, number);
  if (problem != std::errc() || stop != end || number == 0) return std::nullopt;
  return number;
}

/// A root and the number under which it is kept; 0: under none.
struct Numbered {
  uint64_t number = 0;
  std::string text;
};

Result<std::vector<Numbered>> read_numbered(const Store& store) {
  HR_TRY(const auto entries, store.list(kTableFolder + std::string("/versions")));
  std::vector<Numbered> found;
  for (const StoreEntry& entry : entries) {
    const auto number = number_of(entry.path);
    if (!number) continue;
    HR_TRY(std::string text, store.read(entry.path));
    found.push_back({*number, std::move(text)});
  }
  std::ranges::sort(found, {}, &Numbered::number);
  return found;
}

Result<std::optional<std::string>> read_root(const Store& store) {
  auto text = store.read(kManifestName);
  if (text.ok()) return std::optional(std::move(*text));
  if (text.error().code == Code::kNotFound) return std::optional<std::string>();
  return std::move(text).error();
}

bool is_known(const std::vector<Numbered>& versions, const std::string& text) {
  return std::ranges::find(versions, text, &Numbered::text) != versions.end();
}

Status put_root(Store& store, const std::string& text) {
  HR_CHECK(put(store, kManifestName, as_bytes(text)));
  return store.sync();
}

Error overtaken(const Store& store) {
  return {.code = Code::kChanged,
          .message = "somebody else made a new version of '" + store.name() + "' meanwhile",
          .origin = {},
          .hint = "Give the same command again: it goes on from the new version."};
}

/// The numbered versions, the root's among them, with the newest one as the root.
Result<std::vector<Numbered>> settle(Store& store, const std::string& root) {
  for (;;) {
    HR_TRY(std::vector<Numbered> versions, read_numbered(store));
    if (!is_known(versions, root)) {
      const uint64_t next = versions.empty() ? 1 : versions.back().number + 1;
      HR_CHECK(put_if_absent(store, path_of(next), as_bytes(root)));
      continue;  // and look who was first
    }
    if (versions.back().text != root) HR_CHECK(put_root(store, versions.back().text));
    return versions;
  }
}

}  // namespace

Result<std::vector<Version>> read_versions(const Store& store) {
  HR_TRY(const auto root, read_root(store));
  if (!root)
    return Error{.code = Code::kNotFound,
                 .message = "there is no data set",
                 .origin = {.shard = store.name()}};
  HR_CHECK(decode_manifest(as_bytes(*root), store.name() + "/" + kManifestName));
  HR_TRY(std::vector<Numbered> numbered, read_numbered(store));
  if (!is_known(numbered, *root))
    numbered.push_back({numbered.empty() ? 1 : numbered.back().number + 1, *root});
  std::vector<Version> versions;
  for (Numbered& one : numbered) {
    auto manifest = decode_manifest(as_bytes(one.text), path_of(one.number));
    if (!manifest.ok()) continue;
    versions.push_back(
        {one.number, path_of(one.number), std::move(one.text), std::move(*manifest)});
  }
  const auto current = std::ranges::find(versions.rbegin(), versions.rend(), *root, &Version::text);
  current->is_current = true;
  return versions;
}

Status commit_root(Store& store, const std::string& text,
                   const std::optional<std::string>& built_on) {
  for (;;) {
    HR_TRY(const auto root, read_root(store));
    if (!root && built_on) return overtaken(store);
    if (!root) return put_root(store, text);
    if (*root == text) return {};  // another run of the same plan
    HR_TRY(const std::vector<Numbered> versions, settle(store, *root));
    const Numbered& newest = versions.back();
    if (newest.text == text) return {};
    if (built_on && newest.text != *built_on) return overtaken(store);
    HR_TRY(const bool ours, put_if_absent(store, path_of(newest.number + 1), as_bytes(text)));
    if (!ours) continue;
    HR_CHECK(store.sync());
    fault_point("numbered");
    return put_root(store, text);
  }
}

Status forget_version(Store& store, uint64_t number) { return store.remove(path_of(number)); }

Result<std::vector<StoreEntry>> version_objects(const Store& store, const Version& version) {
  std::vector<StoreEntry> objects;
  const Manifest& manifest = version.manifest;
  const auto add = [&objects](const TableFile& table) {
    objects.push_back({table.path, table.bytes});
  };
  for (const TableFile* table : {&manifest.shard_table, &manifest.place_table, &manifest.key_table})
    add(*table);
  for (const TableFile& table : manifest.index_files) add(table);
  if (!manifest.base.empty() || manifest.container == Container::kFiles) return objects;
  HR_TRY(const auto shards, PublishedShards::open(store, manifest));
  for (uint64_t i = 0; i < shards.size(); ++i) objects.push_back({shards.name(i), shards.bytes(i)});
  return objects;
}

Result<uint64_t> restore_version(Store& store, uint64_t number) {
  HR_TRY(const std::vector<Version> versions, read_versions(store));
  const auto wanted = std::ranges::find(versions, number, &Version::number);
  if (wanted == versions.end())
    return Error{
        .code = Code::kNotFound,
        .message = "there is no version " + std::to_string(number) + " of '" + store.name() + "'",
        .origin = {},
        .hint = "'headrace history " + store.name() + "' lists them."};
  if (wanted->is_current) return number;
  HR_TRY(const auto objects, version_objects(store, *wanted));
  for (const StoreEntry& object : objects) HR_CHECK(store.open_known(object.path, object.bytes));
  const auto current = std::ranges::find(versions, true, &Version::is_current);
  HR_CHECK(commit_root(store, wanted->text, current->text));
  HR_CHECK(store.publish());
  HR_TRY(const std::vector<Version> after, read_versions(store));
  return after.back().number;
}

}  // namespace headrace
