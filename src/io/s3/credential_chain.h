// Where credentials for S3 come from, in the order in which every tool for AWS looks:
//
//   environment -> web identity -> profile (keys, process, role) -> container -> instance metadata
//
// Functions wait for the network or a program: they are called through Renewed, never on the
// fetcher's thread. Errors never show a credential. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/bucket/renewed.h"
#include "io/http/fetcher.h"
#include "io/s3/aws_profile.h"
#include "io/s3/signature_v4.h"

namespace headrace {

/// Nothing: this source is not set up here, and the next one is asked.
using FoundCredentials = Result<std::optional<S3Credentials>>;

/// The first that is set up. Code::kDenied if none is, or if the one that is set up fails.
Result<S3Credentials> find_credentials(Fetcher& fetcher);

/// The chain's credentials for this process, as the environment is now; shared by all stores.
std::shared_ptr<Renewed<S3Credentials>> shared_credentials(std::shared_ptr<Fetcher> fetcher);

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
FoundCredentials environment_credentials();
/// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME.
FoundCredentials web_identity_credentials(Fetcher& fetcher, const std::string& region);
/// Keys, credential_process, a role with a web identity or a source profile.
FoundCredentials profile_credentials(Fetcher& fetcher, const AwsProfiles& profiles,
                                     const std::string& profile);
/// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN[_FILE].
FoundCredentials container_credentials(Fetcher& fetcher);
/// The metadata service of a virtual machine (version 2), unless AWS_EC2_METADATA_DISABLED.
FoundCredentials instance_credentials(Fetcher& fetcher);

/// What a program prints for `credential_process`.
Result<S3Credentials> run_credential_process(const std::string& command);
/// A role's credentials from STS, for a token or for credentials that may take the role.
struct Role {
  std::string arn;
  std::string session_name;
  std::string external_id = {};
};
Result<S3Credentials> assume_role_with_web_identity(Fetcher& fetcher, const Role& role,
                                                    const std::string& token_file,
                                                    const std::string& region);
Result<S3Credentials> assume_role(Fetcher& fetcher, const Role& role, const S3Credentials& source,
                                  const std::string& region);

/// JSON with AccessKeyId, SecretAccessKey, Expiration, and Token or SessionToken; `where` is for
/// messages.
Result<S3Credentials> parse_credentials(const std::string& text, const std::string& where);

}  // namespace headrace
