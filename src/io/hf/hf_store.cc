#include "io/hf/hf_store.h"

#include "base/digest.h"
#include "base/try.h"
#include "io/hf/hf_sink.h"
#include "io/hf/hf_source.h"
#include "io/http/curl.h"
#include "io/local_source.h"

namespace headrace {

Result<std::shared_ptr<Store>> HfStore::open_location(const std::string& location) {
  HR_CHECK(load_curl());
  HR_TRY(const HfLocation parsed, HfLocation::parse(location));
  HR_TRY(auto repository, HfRepository::open(parsed));
  return std::shared_ptr<Store>(std::make_shared<HfStore>(std::move(repository), parsed.path));
}

HfStore::HfStore(std::shared_ptr<HfRepository> repository, const std::string& folder)
    : repository_(std::move(repository)),
      changes_(std::make_shared<HfChanges>(repository_)),
      folder_(folder.empty() ? "" : folder + "/"),
      name_(repository_->location().name() + (folder.empty() ? "" : "/" + folder)) {}

Result<HfFile> HfStore::find(const std::string& full) const {
  const auto listing = repository_->listing();
  HR_TRY(const auto file, listing->find(full));
  if (file) return *file;
  return Error{.code = Code::kNotFound,
               .message = "there is no such file in commit " + listing->commit().substr(0, 10),
               .origin = {.shard = repository_->location().name() + "/" + full}};
}

Result<std::unique_ptr<ByteSource>> HfStore::open(const std::string& path) const {
  HR_TRY(const HfFile file, find(folder_ + path));
  return open_found(folder_ + path, file);
}

Result<std::unique_ptr<ByteSource>> HfStore::open_known(const std::string& path,
                                                        uint64_t bytes) const {
  if (repository_->listing()->find_known(folder_ + path)) return Store::open_known(path, bytes);
  HfFile file;
  file.bytes = bytes;
  return open_found(folder_ + path, file);
}

Result<std::unique_ptr<ByteSource>> HfStore::open_found(const std::string& full,
                                                        const HfFile& file) const {
  const std::string here = repository_->cache().find(repository_->commit(), full, file);
  if (!here.empty()) return open_local_file(here);
  if (repository_->settings().offline)
    return Error{.code = Code::kNotFound,
                 .message = "the file is not in the Hub's cache, and HF_HUB_OFFLINE is set",
                 .origin = {.shard = repository_->location().name() + "/" + full}};
  return std::unique_ptr<ByteSource>(std::make_unique<HfSource>(repository_, full, file));
}

Result<std::string> HfStore::read(const std::string& path) const {
  if (auto staged = changes_->read(folder_ + path)) return *std::move(staged);
  const std::string full = folder_ + path;
  HR_TRY(const HfFile file, find(full));
  // One process of this machine fetches it, the others find it in the cache.
  const bool here = !repository_->cache().find(repository_->commit(), full, file).empty();
  const File lock = here ? File() : repository_->cache().lock(file.etag());
  if (here || !repository_->cache().find(repository_->commit(), full, file).empty() ||
      repository_->settings().offline)
    return Store::read(path);
  return fetch(full, file);
}

Result<std::string> HfStore::fetch(const std::string& full, const HfFile& file) const {
  const HfObject object(repository_, full, file.etag());
  HR_TRY(std::string bytes, read_remote(*repository_->fetcher(), object));
  const bool whole = bytes.size() == file.bytes &&
                     (file.sha256.empty() || sha256_hex(as_bytes(bytes)) == file.sha256);
  if (!whole)
    return Error{.code = Code::kCorrupt,
                 .message = "the file does not have the size and digest that its commit says",
                 .origin = {.shard = object.name()}};
  repository_->cache().write_file(repository_->commit(), full, file, as_bytes(bytes));
  return bytes;
}

Result<bool> HfStore::exists(const std::string& path) const {
  if (const auto known = changes_->will_exist(folder_ + path)) return *known;
  HR_TRY(const auto file, repository_->listing()->find(folder_ + path));
  return file.has_value();
}

Result<std::vector<StoreEntry>> HfStore::list(const std::string& prefix) const {
  std::string above = folder_ + prefix;
  if (!prefix.empty() && !prefix.ends_with('/')) above += '/';
  HR_TRY(const HfTree tree, changes_->tree());
  std::vector<StoreEntry> entries;
  for (auto it = tree.lower_bound(above); it != tree.end() && it->first.starts_with(above); ++it)
    entries.push_back({it->first.substr(folder_.size()), it->second.bytes});
  return entries;
}

Result<std::unique_ptr<ByteSink>> HfStore::create(const std::string& path) {
  return std::unique_ptr<ByteSink>(std::make_unique<HfSink>(changes_, folder_ + path));
}

Status HfStore::remove(const std::string& path) { return changes_->remove(folder_ + path); }

}  // namespace headrace
