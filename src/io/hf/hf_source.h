// Reading a file of the Hub: the commit's address is asked once, the signed address that it
// redirects to is used from then on, and asked for again before it expires or when it is refused.
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "io/hf/hf_repository.h"
#include "io/remote_source.h"

namespace headrace {

class HfObject : public RemoteObject {
 public:
  HfObject(std::shared_ptr<HfRepository> repository, std::string path, const HfFile& file);

  const std::string& name() const override { return name_; }
  HttpCall get(const std::string& pinned) const override;
  /// Contents of a commit never change: what the tree says.
  std::string version(const HttpResponse&) const override { return etag_; }
  void found_at(const Url& url) const override;
  Error error(const HttpResponse& answer) const override;

 private:
  const std::shared_ptr<HfRepository> repository_;
  const std::string path_;
  const std::string name_;
  const std::string etag_;
};

class HfSource : public RemoteSource {
 public:
  HfSource(std::shared_ptr<HfRepository> repository, std::string path, const HfFile& file);

  void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                  const Done& done) const override;

 private:
  const std::shared_ptr<HfRepository> repository_;
  const std::string etag_;
};

}  // namespace headrace
