// A Store in memory: for tests, and the proof that the interface asks for no file system.
// `mem:NAME` is one per name and process. Thread-safe.
#pragma once

#include <map>
#include <mutex>

#include "headrace/store.h"

namespace headrace {

class MemoryStore : public Store {
 public:
  explicit MemoryStore(std::string name) : name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  Result<std::unique_ptr<ByteSource>> open(const std::string& path) const override;
  Result<bool> exists(const std::string& path) const override;
  Result<std::vector<StoreEntry>> list(const std::string& prefix) const override;
  Result<std::unique_ptr<ByteSink>> create(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status sync() override { return {}; }

 private:
  class Sink;

  const std::string name_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const std::string>> objects_;
};

/// Bytes in memory as an object to read.
std::unique_ptr<ByteSource> open_bytes(std::string name, std::shared_ptr<const std::string> bytes);

/// The store `mem:NAME` of this process; made when first asked for.
std::shared_ptr<Store> open_memory_store(const std::string& location);

}  // namespace headrace
