// Access tokens of OAuth 2, as Google and Azure give them. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/bucket/renewed.h"
#include "io/http/fetcher.h"

namespace headrace {

struct BearerToken {
  std::string token;
  std::optional<WallTime> expires = {};
};

/// JSON with access_token and expires_in. `where` is for messages; nothing of the answer is shown.
Result<BearerToken> parse_token(const HttpResponse& answer, const std::string& where);

/// Posts a form and reads the token in the answer.
Result<BearerToken> ask_for_token(Fetcher& fetcher, const std::string& address,
                                  const QueryParameters& form);

class BearerSigner : public Signer {
 public:
  explicit BearerSigner(std::shared_ptr<Renewed<BearerToken>> tokens)
      : tokens_(std::move(tokens)) {}
  Status sign(HttpRequest& request) const override;
  /// Waits until there is a token.
  Status ready() const;

 private:
  const std::shared_ptr<Renewed<BearerToken>> tokens_;
};

}  // namespace headrace
