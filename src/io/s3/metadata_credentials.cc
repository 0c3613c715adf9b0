// Credentials from a service beside the machine: of a container's host, and of a virtual machine.
#include <fstream>
#include <sstream>

#include "base/try.h"
#include "io/environment.h"
#include "io/s3/credential_chain.h"

namespace headrace {
namespace {

constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr const char* kInstanceHost = "http://169.254.169.254";
constexpr auto kContainerPatience = std::chrono::seconds(5);
// Where there is no such service, requests to its address go nowhere.
constexpr auto kInstancePatience = std::chrono::seconds(2);

HttpCall call_of(Url url, std::chrono::milliseconds patience) {
  HttpCall call;
  call.object = url.origin() + url.path;
  call.patience = patience;
  call.request.url = std::move(url);
  return call;
}

Result<std::string> body_of(Fetcher& fetcher, HttpCall call) {
  const std::string object = call.object;
  HR_TRY(HttpResponse answer, fetcher.send(std::move(call)));
  if (answer.is_success()) return std::move(answer.body);
  answer.body.clear();  // may hold anything
  return http_error("get credentials", object, answer);
}

// Over plain HTTP credentials are asked for on this machine alone, and at the addresses that
// containers are given.
bool is_trusted(const Url& url) {
  if (url.scheme == "https") return true;
  for (const char* host :
       {"localhost", "127.0.0.1", "::1", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"})
    if (url.host == host) return true;
  return false;
}

Result<std::string> container_token() {
  const std::string file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (file.empty()) return environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  std::ifstream stream(file);
  std::string token;
  if (std::getline(stream, token)) return token;
  return Error{.code = Code::kDenied,
               .message = "cannot read AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
               .origin = {.shard = file}};
}

}  // namespace

FoundCredentials container_credentials(Fetcher& fetcher) {
  const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::optional<S3Credentials>();
  HR_TRY(Url url, Url::parse(relative.empty() ? full : kContainerHost + relative));
  if (!is_trusted(url))
    return Error{
        .code = Code::kDenied,
        .message = "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine",
        .origin = {.shard = url.origin()}};
  HttpCall call = call_of(std::move(url), kContainerPatience);
  HR_TRY(const std::string token, container_token());
  if (!token.empty()) call.request.headers.set("Authorization", token);
  HR_TRY(const std::string body, body_of(fetcher, std::move(call)));
  HR_TRY(S3Credentials credentials, parse_credentials(body, "the container's host"));
  return std::optional(std::move(credentials));
}

FoundCredentials instance_credentials(Fetcher& fetcher) {
  if (environment_flag({"AWS_EC2_METADATA_DISABLED"})) return std::optional<S3Credentials>();
  const std::string named = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  HR_TRY(Url url, Url::parse(named.empty() ? kInstanceHost : named));

  url.path = "/latest/api/token";
  HttpCall ask = call_of(url, kInstancePatience);
  ask.request.method = "PUT";
  ask.request.headers.set("X-aws-ec2-metadata-token-ttl-seconds", "21600");
  const auto token = fetcher.send(std::move(ask));
  if (!token.ok() || !token->is_success())
    return std::optional<S3Credentials>();  // no such service

  const auto get = [&](const std::string& path) {
    url.path = path;
    HttpCall call = call_of(url, kInstancePatience);
    call.request.headers.set("X-aws-ec2-metadata-token", token->body);
    return body_of(fetcher, std::move(call));
  };
  const std::string folder = "/latest/meta-data/iam/security-credentials/";
  const auto roles = get(folder);
  if (!roles.ok() && roles.error().code == Code::kNotFound) return std::optional<S3Credentials>();
  if (!roles.ok()) return roles.error();
  const std::string role = roles->substr(0, roles->find('\n'));
  if (role.empty()) return std::optional<S3Credentials>();
  HR_TRY(const std::string body, get(folder + percent_encode(role)));
  HR_TRY(S3Credentials credentials, parse_credentials(body, "the machine's metadata service"));
  return std::optional(std::move(credentials));
}

}  // namespace headrace
