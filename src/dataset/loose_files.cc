#include "dataset/loose_files.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/try.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

struct File {
  std::string key;
  std::string field;
  const StoreEntry* entry;
  const StoreEntry* first = nullptr;  ///< file of the sample
};

/// The manifest's own files, and the card of a data set.
bool is_no_sample(std::string_view path) {
  return path == "README.md" || path == kManifestName ||
         path.starts_with(std::string(kTableFolder) + "/");
}

Result<std::vector<File>> split_names(const std::vector<StoreEntry>& entries, const KeyRule& rule) {
  std::vector<File> files;
  KeyField name;
  for (const StoreEntry& entry : entries) {
    if (is_no_sample(entry.path)) continue;
    HR_TRY(const bool belongs, rule.split(entry.path, name));
    if (belongs) files.push_back({name.key, name.field, &entry});
  }
  return files;
}

/// Puts the files of one sample side by side, sorted by field, and samples in the order of their
/// first files. `files` are in the order of their paths.
void group_by_key(std::vector<File>& files) {
  std::unordered_map<std::string_view, const StoreEntry*> first;
  for (File& file : files) file.first = first.try_emplace(file.key, file.entry).first->second;
  first.clear();  // it points into the files, which move now
  std::ranges::sort(files, {}, [](const File& f) { return std::tie(f.first, f.field); });
}

Error claimed_twice(const Store& store, const File& a, const File& b) {
  return {.code = Code::kCorrupt,
          .message = "'" + a.entry->path + "' and '" + b.entry->path + "' both are field '" +
                     a.field + "' of sample '" + a.key + "'",
          .origin = {.shard = store.name()},
          .hint = "Rename one, or choose another key rule."};
}

}  // namespace

Result<LooseFiles> group_loose_files(const Store& store, const KeyRule& rule) {
  HR_TRY(const auto entries, store.list(""));
  HR_TRY(std::vector<File> files, split_names(entries, rule));
  group_by_key(files);

  LooseFiles out;
  ShardIndexBuilder builder;
  uint64_t bytes = 0;
  const auto end_shard = [&] {
    out.shards.push_back(std::make_shared<const ShardIndex>(builder.index()));
    out.bytes.push_back(bytes);
    builder = {};
    bytes = 0;
  };
  for (size_t i = 0; i < files.size();) {
    builder.add_sample(files[i].key, bytes);
    size_t end = i;
    for (; end < files.size() && files[end].key == files[i].key; ++end) {
      if (end > i && files[end].field == files[end - 1].field)
        return claimed_twice(store, files[end - 1], files[end]);
      builder.add_file(files[end].field, files[end].entry->path, files[end].entry->bytes);
      bytes += files[end].entry->bytes;
    }
    builder.end_sample(bytes);
    i = end;
    if (builder.size() == kLooseShardSamples) end_shard();
  }
  if (builder.size() > 0) end_shard();
  return out;
}

}  // namespace headrace
