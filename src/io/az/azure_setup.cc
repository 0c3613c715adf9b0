#include "io/az/azure_setup.h"

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "base/base64.h"
#include "base/try.h"
#include "io/az/shared_key.h"
#include "io/environment.h"

namespace headrace {
namespace {

constexpr const char* kResource = "https://storage.azure.com/";
constexpr auto kMetadataPatience = std::chrono::seconds(2);

Error denied(std::string message) {
  return {.code = Code::kDenied,
          .message = std::move(message),
          .origin = {},
          .hint =
              "Set AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or "
              "AZURE_STORAGE_CONNECTION_STRING; for public containers set "
              "HEADRACE_AZ_ANONYMOUS=1."};
}

std::string first(const std::string& a, const std::string& b) { return a.empty() ? b : a; }

Result<Url> endpoint_of(const std::string& connection, const std::string& account) {
  const std::string named =
      first(connection_setting(connection, "BlobEndpoint"), environment("AZURE_STORAGE_ENDPOINT"));
  if (!named.empty()) return Url::parse(named);
  if (account.empty()) return denied("no storage account of Azure is named");
  const std::string suffix = connection_setting(connection, "EndpointSuffix");
  return Url::parse("https://" + account + ".blob." + first(suffix, "core.windows.net"));
}

// One for all stores of this process and setup. Never destroyed: a renewal may be under way when
// the process ends.
std::shared_ptr<Renewed<BearerToken>> shared_tokens(const std::shared_ptr<Fetcher>& fetcher) {
  static auto& mutex = *new std::mutex;                                                    // NOLINT
  static auto& known = *new std::map<std::string, std::shared_ptr<Renewed<BearerToken>>>;  // NOLINT
  std::string setup;
  for (const char* name : {"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET",
                           "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST"})
    setup += environment(name) + '\n';
  const std::lock_guard lock(mutex);
  auto& tokens = known[setup];
  if (!tokens)
    tokens =
        std::make_shared<Renewed<BearerToken>>([fetcher] { return find_azure_token(*fetcher); });
  return tokens;
}

Result<BearerToken> token_of_managed_identity(Fetcher& fetcher, const std::string& client) {
  QueryParameters query{{"api-version", "2018-02-01"}, {"resource", kResource}};
  if (!client.empty()) query.emplace_back("client_id", client);
  HttpCall call;
  HR_TRY(call.request.url, Url::parse("http://169.254.169.254/metadata/identity/oauth2/token"));
  call.request.url.query = encode_query(query);
  call.object = call.request.url.origin();
  call.patience = kMetadataPatience;
  call.request.headers.set("Metadata", "true");
  const auto answer = fetcher.send(std::move(call));
  if (!answer.ok()) return denied("there are no credentials for Azure");
  return parse_token(*answer, "Azure's metadata service");
}

}  // namespace

std::string connection_setting(const std::string& connection, const std::string& name) {
  std::istringstream settings(connection);
  for (std::string setting; std::getline(settings, setting, ';');)
    if (setting.starts_with(name + "=")) return setting.substr(name.size() + 1);
  return "";
}

Result<BearerToken> find_azure_token(Fetcher& fetcher) {
  const std::string tenant = environment("AZURE_TENANT_ID");
  const std::string client = environment("AZURE_CLIENT_ID");
  const std::string secret = environment("AZURE_CLIENT_SECRET");
  const std::string file = environment("AZURE_FEDERATED_TOKEN_FILE");
  if (tenant.empty() || client.empty() || (secret.empty() && file.empty()))
    return token_of_managed_identity(fetcher, client);
  QueryParameters form{{"grant_type", "client_credentials"},
                       {"client_id", client},
                       {"scope", std::string(kResource) + ".default"}};
  if (!secret.empty()) {
    form.emplace_back("client_secret", secret);
  } else {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream token;
    if (!stream.is_open() || !(token << stream.rdbuf()))
      return denied("cannot read AZURE_FEDERATED_TOKEN_FILE");
    form.emplace_back("client_assertion_type",
                      "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    form.emplace_back("client_assertion", token.str());
  }
  std::string authority =
      first(environment("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com");
  if (authority.ends_with('/')) authority.pop_back();
  return ask_for_token(fetcher, authority + "/" + percent_encode(tenant) + "/oauth2/v2.0/token",
                       form);
}

Result<AzureSetup> AzureSetup::from_environment(const std::shared_ptr<Fetcher>& fetcher) {
  const std::string connection = environment("AZURE_STORAGE_CONNECTION_STRING");
  const std::string account =
      first(connection_setting(connection, "AccountName"), environment("AZURE_STORAGE_ACCOUNT"));
  const std::string key =
      first(connection_setting(connection, "AccountKey"), environment("AZURE_STORAGE_KEY"));
  std::string sas = first(connection_setting(connection, "SharedAccessSignature"),
                          environment("AZURE_STORAGE_SAS_TOKEN"));
  if (sas.starts_with('?')) sas.erase(0, 1);

  AzureSetup setup;
  HR_TRY(setup.endpoint, endpoint_of(connection, account));
  if (environment_flag({"HEADRACE_AZ_ANONYMOUS"})) return setup;
  if (!key.empty()) {
    auto decoded = base64_decode(key);
    if (!decoded || account.empty()) return denied("the storage account's key is no base64");
    setup.access.signer =
        std::make_shared<const SharedKeySigner>(AzureAccount{account, *std::move(decoded)});
  } else if (!sas.empty()) {
    setup.access.sas = std::move(sas);
  } else {
    const auto bearer = std::make_shared<const BearerSigner>(shared_tokens(fetcher));
    setup.access.signer = bearer;
    setup.access.ready = [bearer] { return bearer->ready(); };
  }
  return setup;
}

}  // namespace headrace
