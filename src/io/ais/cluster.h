// An AIStore cluster as this process knows it: its gateway, its map, and where objects were found.
//
//   read      -> the target that should have it, if the map is known; else the gateway, which
//                redirects, and the place is kept
//   404, no connection -> the gateway again, and the map is read anew: targets come and go
//
// One per endpoint and process. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "headrace/result.h"
#include "io/ais/cluster_map.h"
#include "io/http/fetcher.h"

namespace headrace {

/// An object's name in a cluster.
struct AisName {
  std::string bucket;
  std::string object;
  bool operator==(const AisName&) const = default;

  /// Path of requests for it.
  std::string path() const;
};

class AisCluster : public std::enable_shared_from_this<AisCluster> {
 public:
  /// `token`: "" for none.
  AisCluster(Url endpoint, std::string token, std::shared_ptr<Fetcher> fetcher);

  /// The one of this process. The token comes from AIS_AUTHN_TOKEN or AIS_AUTHN_TOKEN_FILE.
  static Result<std::shared_ptr<AisCluster>> of(const Url& endpoint);

  const Url& endpoint() const { return endpoint_; }
  Fetcher& fetcher() const { return *fetcher_; }
  const std::shared_ptr<Fetcher>& shared_fetcher() const { return fetcher_; }

  /// A request to the gateway, whose redirect to a target of the cluster is followed.
  HttpCall call(const std::string& method, const std::string& path, const std::string& query,
                const std::string& object) const;
  /// A GET of an object, to where it should be. If it is not there, the gateway is asked, and asked
  /// again while targets come and go.
  HttpCall read(const AisName& name, const std::string& object);
  /// That object was found there.
  void found(const AisName& name, const Url& url);

  /// Reads the map anew, and waits for it.
  Result<std::string> map_version();
  /// Reads the map if there is a token, which only targets on it are to get.
  Status ready();

 private:
  class Again;

  Url at_gateway(const std::string& path, const std::string& query) const;
  std::optional<Url> place(const AisName& name) const;
  void forget(const AisName& name);
  /// Reads the map anew without waiting.
  void refresh();
  void take_map(const HttpResponse& answer);
  bool is_target(const Url& url) const;
  bool is_shaken(const std::string& version_before) const;

  const Url endpoint_;
  const std::string token_;
  const std::shared_ptr<const Signer> signer_;
  const std::shared_ptr<Fetcher> fetcher_;
  mutable std::mutex mutex_;
  std::optional<ClusterMap> map_;
  size_t most_targets_ = 0;  // that any map had
  bool refreshing_ = false;
  std::unordered_map<std::string, Url> places_;  // by path, where the map does not say it
};

}  // namespace headrace
