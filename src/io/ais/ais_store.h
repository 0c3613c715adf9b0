// A Store on AIStore: `ais://bucket/folder` at the gateway that AIS_ENDPOINT names, or
// `ais://host:port/bucket/folder`. A path through an archive, `a.tar/member.jpg`, is that member,
// read in place by the cluster. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "io/ais/ais_service.h"
#include "io/bucket/bucket_store.h"

namespace headrace {

class AisStore : public BucketStore {
 public:
  static Result<std::shared_ptr<Store>> open_location(const std::string& location);

  AisStore(std::shared_ptr<AisCluster> cluster, std::shared_ptr<const AisService> service,
           const std::string& folder);

  Result<std::unique_ptr<ByteSource>> open(const std::string& path) const override;
  Result<std::string> read(const std::string& path) const override;
  /// The cluster's map is compared before and after: a listing during which targets came or went
  /// may lack objects without a word, and is made again.
  Result<std::vector<StoreEntry>> list(const std::string& prefix) const override;

 private:
  const std::shared_ptr<AisCluster> cluster_;
  const std::shared_ptr<const AisService> service_;
  const std::string folder_;  // "" or with a trailing '/'
};

}  // namespace headrace
