#include "dataset/loose_files.h"

#include <algorithm>
#include <tuple>

#include "base/try.h"

namespace headrace {
namespace {

struct File {
  std::string key;
  std::string field;
  const StoreEntry* entry;
};

Result<std::vector<File>> split_names(const std::vector<StoreEntry>& entries, const KeyRule& rule) {
  std::vector<File> files;
  KeyField name;
  for (const StoreEntry& entry : entries) {
    HR_TRY(const bool belongs, rule.split(entry.path, name));
    if (belongs) files.push_back({name.key, name.field, &entry});
  }
  std::ranges::sort(files, {}, [](const File& f) { return std::tie(f.key, f.field); });
  return files;
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
  HR_TRY(const std::vector<File> files, split_names(entries, rule));

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
