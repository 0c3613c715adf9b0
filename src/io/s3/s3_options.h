// How a bucket is reached: what the environment and the profile say. Plain values.
#pragma once

#include <string>

#include "headrace/result.h"
#include "io/s3/endpoint.h"

namespace headrace {

struct S3Options {
  S3Endpoint endpoint = {};
  std::string region = {};  ///< empty: found out, beginning with us-east-1
  bool requester_pays = false;
  bool anonymous = false;

  /// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION, HEADRACE_S3_STYLE (path
  /// or virtual), HEADRACE_S3_REQUEST_PAYER, HEADRACE_S3_ANONYMOUS, AWS_NO_SIGN_REQUEST; then the
  /// profile's endpoint_url, region, s3.addressing_style.
  static Result<S3Options> from_environment();
};

}  // namespace headrace
