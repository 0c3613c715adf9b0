// Signatures of AWS, version 4: for S3 and what speaks as S3 does, and for STS.
// Pure functions. Source: "Signature Version 4 signing process" of the Amazon S3 API reference.
//
// Signed are Host, Content-Type, Content-MD5 and everything that begins with x-amz-; other headers
// (Range, If-Match) may change from one attempt to the next, or on the way.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "io/bucket/renewed.h"
#include "io/http/http_message.h"

namespace headrace {

/// What a request is signed with. `expires` is set for those that are lent for some hours.
struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token = {};
  std::optional<WallTime> expires = {};
};

struct SigningScope {
  std::string region;
  std::string service = "s3";
};

/// In x-amz-content-sha256, instead of the digest of the body: the connection protects it.
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
inline constexpr std::string_view kContentDigest = "x-amz-content-sha256";

/// Adds Authorization, x-amz-date and, if the credentials have one, x-amz-security-token, in place
/// of those that are there. x-amz-content-sha256 is taken from the request; without one, the body
/// is digested here.
void sign_v4(HttpRequest& request, const S3Credentials& credentials, const SigningScope& scope,
             WallTime now);

/// `request`'s URL with a signature in its query that is good for `lasts`.
Url presign_v4(const HttpRequest& request, const S3Credentials& credentials,
               const SigningScope& scope, WallTime now, std::chrono::seconds lasts);

/// 20130524T000000Z.
std::string amz_date(WallTime time);

}  // namespace headrace
