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
  /// `etag`: "" if it is not known.
  HfObject(std::shared_ptr<HfRepository> repository, const std::string& path, std::string etag);

  const std::string& name() const override { return name_; }
  HttpCall get(const std::string& pinned) const override;
  /// Contents of a commit never change.
  std::string version(const HttpResponse&) const override { return etag_; }
  void found_at(const Url& url) const override;
  Error error(const HttpResponse& answer) const override;

 private:
  const std::shared_ptr<HfRepository> repository_;
  const Url resolve_;  // of one commit, whatever becomes of the branch
  const std::string name_;
  const std::string etag_;
};

class HfSource : public RemoteSource {
 public:
  /// A file that is known by its size alone has no etag.
  HfSource(std::shared_ptr<HfRepository> repository, std::string path, const HfFile& file);

  void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                  const Done& done) const override;
  /// Asks the listing if the etag is not known.
  std::string identity() const override;

 private:
  const std::shared_ptr<HfRepository> repository_;
  const std::shared_ptr<HfListing> listing_;  // of the commit that is read
  const std::string path_;
  const std::string place_;
  const std::string etag_;
};

}  // namespace headrace
