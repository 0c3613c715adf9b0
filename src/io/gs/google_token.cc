#include "io/gs/google_token.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/try.h"
#include "io/environment.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr const char* kScope = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr const char* kTokenAddress = "https://oauth2.googleapis.com/token";
constexpr auto kMetadataPatience = std::chrono::seconds(2);

Error denied(std::string message, const std::string& path) {
  return {.code = Code::kDenied,
          .message = std::move(message),
          .origin = {.shard = path},
          .hint =
              "Set GOOGLE_APPLICATION_CREDENTIALS, or run 'gcloud auth application-default "
              "login'; for public buckets set HEADRACE_GS_ANONYMOUS=1."};
}

std::string text_of(const json& object, const char* name) {
  const json value = object.value(name, json());
  return value.is_string() ? value.get<std::string>() : "";
}

Result<BearerToken> token_of_service_account(Fetcher& fetcher, const json& account) {
  const std::string named = text_of(account, "token_uri");
  const std::string address = named.empty() ? kTokenAddress : named;
  const int64_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const json claims{{"iss", text_of(account, "client_email")},
                    {"scope", kScope},
                    {"aud", address},
                    {"iat", now},
                    {"exp", now + 3600}};
  HR_TRY(const std::string assertion, sign_jwt(claims.dump(), text_of(account, "private_key_id"),
                                               text_of(account, "private_key")));
  return ask_for_token(
      fetcher, address,
      {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", assertion}});
}

Result<BearerToken> token_of_metadata_server(Fetcher& fetcher) {
  const std::string named = environment("GCE_METADATA_HOST");
  const std::string host = named.empty() ? "metadata.google.internal" : named;
  HttpCall call;
  HR_TRY(
      call.request.url,
      Url::parse("http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token"));
  call.object = call.request.url.origin();
  call.patience = kMetadataPatience;
  call.request.headers.set("Metadata-Flavor", "Google");
  const auto answer = fetcher.send(std::move(call));
  if (!answer.ok())
    return denied("there are no credentials for Google: no file, and no metadata server", "");
  return parse_token(*answer, "http://" + host);
}

}  // namespace

Result<BearerToken> google_token_of_file(Fetcher& fetcher, const std::string& text,
                                         const std::string& path) {
  const json file = json::parse(text, nullptr, false);
  const std::string type = file.is_object() ? text_of(file, "type") : "";
  if (type == "service_account") return token_of_service_account(fetcher, file);
  if (type != "authorized_user")
    return denied("these credentials are neither a service account's nor a user's", path);
  const std::string named = text_of(file, "token_uri");
  return ask_for_token(fetcher, named.empty() ? kTokenAddress : named,
                       {{"grant_type", "refresh_token"},
                        {"client_id", text_of(file, "client_id")},
                        {"client_secret", text_of(file, "client_secret")},
                        {"refresh_token", text_of(file, "refresh_token")}});
}

Result<BearerToken> find_google_token(Fetcher& fetcher) {
  if (const std::string token = environment("GOOGLE_OAUTH_ACCESS_TOKEN"); !token.empty())
    return BearerToken{token};
  const std::string named = environment("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string folder = environment("CLOUDSDK_CONFIG");
  const std::string usual = (folder.empty() ? environment("HOME") + "/.config/gcloud" : folder) +
                            "/application_default_credentials.json";
  const std::string path = named.empty() ? usual : named;
  std::ifstream file(path, std::ios::binary);
  if (file.is_open()) {
    std::ostringstream text;
    text << file.rdbuf();
    return google_token_of_file(fetcher, text.str(), path);
  }
  if (!named.empty()) return denied("cannot read GOOGLE_APPLICATION_CREDENTIALS", path);
  return token_of_metadata_server(fetcher);
}

}  // namespace headrace
