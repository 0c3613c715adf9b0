// A Store on a repository of the Hub, or a folder of it:
// `hf://datasets/org/name[@revision][/path]`.
//
// What is read is one commit, whatever happens to the branch. Files that the Hub's cache has on
// this machine are read from there, and files that are read whole are kept there. What is written
// becomes visible in one commit, by publish(), if nobody else has committed meanwhile: so
// commit_if_absent() is as good as atomic.
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "headrace/store.h"
#include "io/hf/hf_changes.h"
#include "io/hf/hf_repository.h"

namespace headrace {

class HfStore : public Store {
 public:
  static Result<std::shared_ptr<Store>> open_location(const std::string& location);

  HfStore(std::shared_ptr<HfRepository> repository, const std::string& folder);

  const std::string& name() const override { return name_; }
  Result<std::unique_ptr<ByteSource>> open(const std::string& path) const override;
  /// Asks nothing where the files of the commit are not listed on this machine yet: what a manifest
  /// names is known well enough.
  Result<std::unique_ptr<ByteSource>> open_known(const std::string& path,
                                                 uint64_t bytes) const override;
  Result<std::string> read(const std::string& path) const override;
  Result<bool> exists(const std::string& path) const override;
  Result<std::vector<StoreEntry>> list(const std::string& prefix) const override;
  Result<std::unique_ptr<ByteSink>> create(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status publish() override { return changes_->commit(); }
  Status sync() override { return {}; }

 private:
  Result<HfFile> find(const std::string& full) const;
  Result<std::unique_ptr<ByteSource>> open_found(const std::string& full, const HfFile& file) const;
  Result<std::string> fetch(const std::string& full, const HfFile& file) const;

  const std::shared_ptr<HfRepository> repository_;
  const std::shared_ptr<HfChanges> changes_;
  const std::string folder_;  // "" or with a trailing '/'
  const std::string name_;
};

}  // namespace headrace
