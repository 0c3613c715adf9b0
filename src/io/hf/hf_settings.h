// What the environment says about the Hub, with the names and defaults of its own client:
// HF_ENDPOINT; HF_TOKEN, HF_TOKEN_PATH, HF_HUB_DISABLE_IMPLICIT_TOKEN; HF_HOME, HF_HUB_CACHE;
// HF_HUB_OFFLINE, HF_HUB_DISABLE_SYMLINKS.
// Plain values.
#pragma once

#include <memory>
#include <string>

#include "headrace/result.h"
#include "io/http/fetcher.h"
#include "io/http/url.h"

namespace headrace {

struct HfSettings {
  Url endpoint;
  std::string token;  ///< "" for none
  std::string cache;  ///< the folder of all repositories
  bool offline = false;
  bool symlinks = true;

  static Result<HfSettings> from_environment();

  /// An address below the endpoint. `path` begins with '/'.
  Url url(const std::string& path, const std::string& query = "") const;
  /// An address that an answer gave. Mirrors pass on the Hub's own: they mean the endpoint.
  Result<Url> mirrored(const Url& from, std::string_view reference) const;
  /// Puts the token on requests to the endpoint, and on no others. nullptr without a token.
  std::shared_ptr<const Signer> signer() const;
};

}  // namespace headrace
