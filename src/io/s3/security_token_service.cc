// A role's credentials from AWS's Security Token Service.
#include <fstream>
#include <sstream>

#include "base/try.h"
#include "io/bucket/xml.h"
#include "io/environment.h"
#include "io/s3/credential_chain.h"
#include "io/s3/service_error.h"
#include "io/timestamp.h"

namespace headrace {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

Result<Url> address(const std::string& region) {
  const std::string named = environment({"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"});
  if (!named.empty()) {
    HR_TRY(Url url, Url::parse(named));
    if (url.path.empty()) url.path = "/";
    return url;
  }
  return Url::parse(region.empty() ? "https://sts.amazonaws.com/"
                                   : "https://sts." + region + ".amazonaws.com/");
}

QueryParameters parameters_of(const char* action, const Role& role) {
  const std::string session = role.session_name.empty() ? "headrace" : role.session_name;
  return {{"Action", action},
          {"Version", "2011-06-15"},
          {"RoleArn", role.arn},
          {"RoleSessionName", session}};
}

Result<S3Credentials> parse_answer(const HttpResponse& answer, const char* action) {
  const std::string where = answer.url.origin();
  if (!answer.is_success()) return service_error("take the role", where, answer);
  pugi::xml_document document;
  HR_TRY(const pugi::xml_node root,
         parse_xml(&document, answer.body, (std::string(action) + "Response").c_str(), where));
  const pugi::xml_node lent =
      root.child((std::string(action) + "Result").c_str()).child("Credentials");
  return S3Credentials{lent.child_value("AccessKeyId"), lent.child_value("SecretAccessKey"),
                       lent.child_value("SessionToken"),
                       parse_iso_time(lent.child_value("Expiration"))};
}

Result<S3Credentials> ask(Fetcher& fetcher, const char* action, const QueryParameters& parameters,
                          const std::string& region, const S3Credentials* signed_by) {
  HttpCall call;
  call.patience = kPatience;
  HR_TRY(call.request.url, address(region));
  call.object = call.request.url.origin();
  call.request.method = "POST";
  const auto body = std::make_shared<const std::string>(encode_query(parameters));
  call.request.body = as_bytes(*body);
  call.request.body_owner = body;
  call.request.headers.set("Content-Type", "application/x-www-form-urlencoded");
  if (signed_by != nullptr)
    sign_v4(call.request, *signed_by, {region.empty() ? "us-east-1" : region, "sts"},
            std::chrono::system_clock::now());
  HR_TRY(const HttpResponse answer, fetcher.send(std::move(call)));
  return parse_answer(answer, action);
}

}  // namespace

Result<S3Credentials> assume_role_with_web_identity(Fetcher& fetcher, const Role& role,
                                                    const std::string& token_file,
                                                    const std::string& region) {
  std::ifstream file(token_file, std::ios::binary);
  std::ostringstream token;
  if (!file.is_open() || !(token << file.rdbuf()))
    return Error{.code = Code::kDenied,
                 .message = "cannot read the web identity's token",
                 .origin = {.shard = token_file}};
  constexpr const char* kAction = "AssumeRoleWithWebIdentity";
  QueryParameters parameters = parameters_of(kAction, role);
  parameters.emplace_back("WebIdentityToken", token.str());
  return ask(fetcher, kAction, parameters, region, nullptr);
}

Result<S3Credentials> assume_role(Fetcher& fetcher, const Role& role, const S3Credentials& source,
                                  const std::string& region) {
  constexpr const char* kAction = "AssumeRole";
  QueryParameters parameters = parameters_of(kAction, role);
  if (!role.external_id.empty()) parameters.emplace_back("ExternalId", role.external_id);
  return ask(fetcher, kAction, parameters, region, &source);
}

FoundCredentials web_identity_credentials(Fetcher& fetcher, const std::string& region) {
  const std::string file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  const Role role{environment("AWS_ROLE_ARN"), environment("AWS_ROLE_SESSION_NAME")};
  if (file.empty() || role.arn.empty()) return std::optional<S3Credentials>();
  HR_TRY(S3Credentials lent, assume_role_with_web_identity(fetcher, role, file, region));
  return std::optional(std::move(lent));
}

}  // namespace headrace
