// Signatures of Azure Storage with the account's key. Pure functions.
// Source: "Authorize with Shared Key", REST reference of Azure Storage.
#pragma once

#include <memory>
#include <string>

#include "io/bucket/renewed.h"
#include "io/http/fetcher.h"

namespace headrace {

struct AzureAccount {
  std::string name;
  std::string key;  ///< decoded
};

/// Adds x-ms-date and Authorization, in place of those that are there.
void sign_shared_key(HttpRequest& request, const AzureAccount& account, WallTime now);

class SharedKeySigner : public Signer {
 public:
  explicit SharedKeySigner(AzureAccount account) : account_(std::move(account)) {}
  Status sign(HttpRequest& request) const override {
    sign_shared_key(request, account_, std::chrono::system_clock::now());
    return {};
  }

 private:
  const AzureAccount account_;
};

/// Sat, 01 Jan 2000 00:00:00 GMT.
std::string http_date(WallTime time);

}  // namespace headrace
