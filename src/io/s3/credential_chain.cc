#include "io/s3/credential_chain.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "io/environment.h"
#include "io/timestamp.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr int kMostRoles = 4;  // profiles that name each other as their source

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Error denied(std::string message, std::string hint) {
  return {
      .code = Code::kDenied, .message = std::move(message), .origin = {}, .hint = std::move(hint)};
}

class ProfileSource {
 public:
  ProfileSource(Fetcher& fetcher, const AwsProfiles& profiles)
      : fetcher_(fetcher), profiles_(profiles) {}

  FoundCredentials find(const std::string& profile, int depth) {
    const auto get = [&](const char* name) { return profiles_.get(profile, name); };
    if (!get("role_arn").empty()) return role(profile, depth);
    if (!get("aws_access_key_id").empty() && !get("aws_secret_access_key").empty())
      return std::optional(S3Credentials{get("aws_access_key_id"), get("aws_secret_access_key"),
                                         get("aws_session_token")});
    if (const std::string command = get("credential_process"); !command.empty()) {
      HR_TRY(S3Credentials credentials, run_credential_process(command));
      return std::optional(std::move(credentials));
    }
    if (!get("sso_session").empty() || !get("sso_start_url").empty())
      return denied(
          "profile '" + profile + "' signs in with SSO, which Headrace does not do itself",
          "Let the AWS command line do it: credential_process = aws configure "
          "export-credentials --profile " +
              profile);
    return std::optional<S3Credentials>();
  }

 private:
  FoundCredentials role(const std::string& profile, int depth) {
    const auto get = [&](const char* name) { return profiles_.get(profile, name); };
    if (depth >= kMostRoles)
      return denied("profile '" + profile + "': the roles' source profiles go round in a circle",
                    "Check source_profile.");
    const Role role{get("role_arn"), get("role_session_name"), get("external_id")};
    if (const std::string file = get("web_identity_token_file"); !file.empty()) {
      HR_TRY(S3Credentials lent,
             assume_role_with_web_identity(fetcher_, role, file, get("region")));
      return std::optional(std::move(lent));
    }
    HR_TRY(const auto source, source_of(profile, depth));
    if (!source)
      return denied(
          "profile '" + profile + "' takes a role, but nothing says with which credentials",
          "Give it a source_profile that has some, or a credential_source.");
    HR_TRY(S3Credentials lent, assume_role(fetcher_, role, *source, get("region")));
    return std::optional(std::move(lent));
  }

  FoundCredentials source_of(const std::string& profile, int depth) {
    const std::string kind = profiles_.get(profile, "credential_source");
    if (kind == "Environment") return environment_credentials();
    if (kind == "EcsContainer") return container_credentials(fetcher_);
    if (kind == "Ec2InstanceMetadata") return instance_credentials(fetcher_);
    const std::string source = profiles_.get(profile, "source_profile");
    if (source != profile) return find(source, depth + 1);
    return std::optional(S3Credentials{profiles_.get(profile, "aws_access_key_id"),
                                       profiles_.get(profile, "aws_secret_access_key"),
                                       profiles_.get(profile, "aws_session_token")});
  }

  Fetcher& fetcher_;
  const AwsProfiles& profiles_;
};

}  // namespace

FoundCredentials environment_credentials() {
  const std::string key = environment("AWS_ACCESS_KEY_ID");
  const std::string secret = environment("AWS_SECRET_ACCESS_KEY");
  if (key.empty() && secret.empty()) return std::optional<S3Credentials>();
  if (key.empty() || secret.empty())
    return denied("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set",
                  "Set both, or neither.");
  return std::optional(S3Credentials{key, secret, environment("AWS_SESSION_TOKEN")});
}

FoundCredentials profile_credentials(Fetcher& fetcher, const AwsProfiles& profiles,
                                     const std::string& profile) {
  if (profiles.find(profile) == nullptr) {
    if (environment({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}).empty())
      return std::optional<S3Credentials>();
    return denied("AWS_PROFILE names '" + profile + "', but there is no such profile",
                  "See ~/.aws/config and ~/.aws/credentials.");
  }
  return ProfileSource(fetcher, profiles).find(profile, 0);
}

Result<S3Credentials> find_credentials(Fetcher& fetcher) {
  HR_TRY(const AwsProfiles profiles, AwsProfiles::read());
  const std::string profile = AwsProfiles::chosen();
  std::string region = environment({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region.empty()) region = profiles.get(profile, "region");

  using Source = std::function<FoundCredentials()>;
  for (const Source& source : std::initializer_list<Source>{
           [] { return environment_credentials(); },
           [&] { return web_identity_credentials(fetcher, region); },
           [&] { return profile_credentials(fetcher, profiles, profile); },
           [&] { return container_credentials(fetcher); },
           [&] { return instance_credentials(fetcher); }}) {
    HR_TRY(auto found, source());
    if (found) return *std::move(found);
  }
  return denied(
      "there are no credentials for S3: neither in the environment nor in ~/.aws, and no "
      "metadata service gives any",
      "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE; for public buckets "
      "set HEADRACE_S3_ANONYMOUS=1.");
}

std::shared_ptr<Renewed<S3Credentials>> shared_credentials(std::shared_ptr<Fetcher> fetcher) {
  // Never destroyed: a renewal may be under way when the process ends.
  static auto& mutex = *new std::mutex;  // NOLINT
  static auto& known =
      *new std::map<std::string, std::shared_ptr<Renewed<S3Credentials>>>;  // NOLINT
  std::string setup;
  for (const char* name :
       {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
        "AWS_DEFAULT_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "HOME",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI"})
    setup += environment(name) + '\n';
  const std::lock_guard lock(mutex);
  auto& credentials = known[setup];
  if (!credentials)
    credentials = std::make_shared<Renewed<S3Credentials>>(
        [fetcher = std::move(fetcher)] { return find_credentials(*fetcher); });
  return credentials;
}

Result<S3Credentials> parse_credentials(const std::string& text, const std::string& where) {
  const json answer = json::parse(text, nullptr, false);
  if (!answer.is_object()) return denied(where + " answered with something that is not JSON", "");
  S3Credentials credentials{text_of(answer, "AccessKeyId"), text_of(answer, "SecretAccessKey"),
                            text_of(answer, "SessionToken")};
  if (credentials.session_token.empty()) credentials.session_token = text_of(answer, "Token");
  if (credentials.access_key.empty() || credentials.secret_key.empty())
    return denied(where + " gave no AccessKeyId and SecretAccessKey", text_of(answer, "Message"));
  const std::string expires = text_of(answer, "Expiration");
  credentials.expires = parse_iso_time(expires);
  if (!expires.empty() && !credentials.expires)
    return denied(where + " gave credentials that end at '" + expires + "', which is no time", "");
  return credentials;
}

}  // namespace headrace
