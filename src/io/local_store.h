// A Store on a folder of the local file system (or anything mounted as one).
//
// Objects are written to a temporary beside their place, `.headrace-<n>.part`, and appear by
// rename (replacing) or link (if absent). A temporary is locked (flock) while its writer lives; the
// first create() in a folder removes those that a killed writer left.
// Thread-safe.
#pragma once

#include <mutex>
#include <set>

#include "headrace/store.h"

namespace headrace {

class LocalStore : public Store {
 public:
  /// The folder `root` need not exist; the first create() makes it.
  LocalStore(std::string root, Durability durability);

  const std::string& name() const override { return root_; }
  Result<std::unique_ptr<ByteSource>> open(const std::string& path) const override;
  Result<bool> exists(const std::string& path) const override;
  Result<std::vector<StoreEntry>> list(const std::string& prefix) const override;
  Result<std::unique_ptr<ByteSink>> create(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status sync() override;

 private:
  class Sink;

  std::string full(const std::string& path) const;
  Status prepare_folder(const std::string& folder);
  bool remove_if_empty(const std::string& folder);
  void remember(const std::string& folder);

  const std::string root_;
  const Durability durability_;
  std::mutex mutex_;
  std::set<std::string> prepared_;  // folders made and swept
  std::set<std::string> swept_;     // when their objects were removed
  std::set<std::string> unsynced_;  // folders with names that fsync has not seen
};

}  // namespace headrace
