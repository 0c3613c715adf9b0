// A repository of the Hub at one commit: which files it has, and where their bytes are.
//
// The revision becomes a commit once, by one process of the machine: the others find it in the
// Hub's cache. So all of them read the same commit.
// One per (endpoint, repository, revision) and process while anybody uses it. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "headrace/result.h"
#include "io/hf/hf_cache.h"
#include "io/hf/hf_listing.h"
#include "io/hf/hf_location.h"
#include "io/hf/hf_settings.h"
#include "io/hf/signed_places.h"

namespace headrace {

class HfRepository {
 public:
  /// The path of `location` does not matter.
  static Result<std::shared_ptr<HfRepository>> open(const HfLocation& location);

  HfRepository(HfSettings settings, HfLocation location);

  const HfSettings& settings() const { return settings_; }
  const HfLocation& location() const { return location_; }
  const HfCache& cache() const { return cache_; }
  const std::shared_ptr<Fetcher>& fetcher() const { return fetcher_; }
  SignedPlaces& places() { return places_; }

  /// What there is now; a commit of our own changes it.
  std::shared_ptr<HfListing> listing() const;
  std::string commit() const { return listing()->commit(); }
  void committed(const std::string& commit, HfTree tree);

  /// "/api/datasets/org/name" + `rest`.
  Url api(const std::string& rest, const std::string& query = "") const;
  /// Where a file of the commit is asked for.
  Url resolve(const std::string& path) const;
  /// "datasets/org/name", as in routes that are not of the API.
  std::string route() const;
  /// A request with the token.
  HttpCall call(const std::string& method, Url url) const;
  Error error(std::string_view action, const std::string& object, const HttpResponse& answer) const;
  /// For an answer that no Hub gives.
  Error not_understood() const;

 private:
  Status load();
  Status load_offline();
  Result<std::string> ask_commit() const;

  const HfSettings settings_;
  const HfLocation location_;
  const std::shared_ptr<const Signer> signer_;
  const std::shared_ptr<Fetcher> fetcher_;
  const HfCache cache_;
  SignedPlaces places_;
  mutable std::mutex mutex_;
  std::shared_ptr<HfListing> listing_;
};

}  // namespace headrace
