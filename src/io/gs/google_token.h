// Access tokens of Google, from where its own tools look for them:
//
//   GOOGLE_OAUTH_ACCESS_TOKEN -> the file of GOOGLE_APPLICATION_CREDENTIALS, or that which
//   `gcloud auth application-default login` writes -> the metadata server
//
// Functions wait for the network: they are called through Renewed.
#pragma once

#include <string>

#include "io/bucket/bearer.h"

namespace headrace {

/// Code::kDenied if there is none.
Result<BearerToken> find_google_token(Fetcher& fetcher);

/// The text of a credentials file: of a service account, or of a user.
Result<BearerToken> google_token_of_file(Fetcher& fetcher, const std::string& text,
                                         const std::string& path);

/// "header.claims.signature", signed with RS256; `key` is PEM.
Result<std::string> sign_jwt(const std::string& claims_json, const std::string& key_id,
                             const std::string& key);

}  // namespace headrace
