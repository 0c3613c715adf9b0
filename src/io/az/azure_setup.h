// Which account of Azure is meant, and how it lets us in: what the environment says, in the names
// that Azure's own tools use.
//
//   AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or
//   AZURE_STORAGE_SAS_TOKEN, or a token: AZURE_TENANT_ID, AZURE_CLIENT_ID with AZURE_CLIENT_SECRET
//   or AZURE_FEDERATED_TOKEN_FILE; else the machine's managed identity.
#pragma once

#include <memory>
#include <string>

#include "io/az/az_service.h"
#include "io/bucket/bearer.h"

namespace headrace {

struct AzureSetup {
  Url endpoint;
  AzureAccess access;

  static Result<AzureSetup> from_environment(const std::shared_ptr<Fetcher>& fetcher);
};

/// Waits for the network: called through Renewed. Code::kDenied if there is no way to one.
Result<BearerToken> find_azure_token(Fetcher& fetcher);

/// The value of NAME in "NAME=value;OTHER=value", or "".
std::string connection_setting(const std::string& connection, const std::string& name);

}  // namespace headrace
