#include "io/memory_store.h"

#include <cstring>

namespace headrace {
namespace {

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, std::shared_ptr<const std::string> bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}

  const std::string& name() const override { return name_; }
  uint64_t size() const override { return bytes_->size(); }
  Status read_at(uint64_t offset, MutableBytes into) const override {
    if (offset > bytes_->size() || into.size() > bytes_->size() - offset)
      return Error{.code = Code::kCorrupt,
                   .message = "the object ends before the bytes asked for",
                   .origin = {name_, "", offset}};
    if (!into.empty()) std::memcpy(into.data(), bytes_->data() + offset, into.size());
    return {};
  }
  void will_need(uint64_t, uint64_t) const override {}

 private:
  const std::string name_;
  const std::shared_ptr<const std::string> bytes_;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(std::string name, std::shared_ptr<const std::string> bytes) {
  return std::make_unique<MemorySource>(std::move(name), std::move(bytes));
}

class MemoryStore::Sink : public ByteSink {
 public:
  Sink(MemoryStore* store, std::string path) : store_(store), path_(std::move(path)) {}

  Status append(ByteView bytes) override {
    bytes_ += as_text(bytes);
    return {};
  }
  Status commit() override {
    const std::lock_guard lock(store_->mutex_);
    store_->objects_[path_] = std::make_shared<const std::string>(std::move(bytes_));
    return {};
  }
  Result<bool> commit_if_absent() override {
    const std::lock_guard lock(store_->mutex_);
    if (store_->objects_.contains(path_)) return false;
    store_->objects_[path_] = std::make_shared<const std::string>(std::move(bytes_));
    return true;
  }

 private:
  MemoryStore* store_;
  const std::string path_;
  std::string bytes_;
};

Result<std::unique_ptr<ByteSource>> MemoryStore::open(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(path);
  if (found == objects_.end())
    return Error{
        .code = Code::kNotFound, .message = "no object '" + name_ + "/" + path + "'", .origin = {}};
  return std::unique_ptr<ByteSource>(
      std::make_unique<MemorySource>(name_ + "/" + path, found->second));
}

Result<bool> MemoryStore::exists(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return objects_.contains(path);
}

Result<std::vector<StoreEntry>> MemoryStore::list(const std::string& prefix) const {
  const std::string above = prefix.empty() || prefix.ends_with('/') ? prefix : prefix + "/";
  const std::lock_guard lock(mutex_);
  std::vector<StoreEntry> entries;
  for (auto i = objects_.lower_bound(above); i != objects_.end() && i->first.starts_with(above);
       ++i)
    entries.push_back({i->first, i->second->size()});
  return entries;
}

Result<std::unique_ptr<ByteSink>> MemoryStore::create(const std::string& path) {
  return std::unique_ptr<ByteSink>(std::make_unique<Sink>(this, path));
}

Status MemoryStore::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  objects_.erase(path);
  return {};
}

std::shared_ptr<Store> open_memory_store(const std::string& location) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Store>> stores;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Store>& store = stores[location];
  if (!store) store = std::make_shared<MemoryStore>(location);
  return store;
}

}  // namespace headrace
