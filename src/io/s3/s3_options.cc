#include "io/s3/s3_options.h"

#include "base/try.h"
#include "io/environment.h"
#include "io/s3/aws_profile.h"

namespace headrace {
namespace {

Result<S3Style> style_of(const std::string& name) {
  if (name.empty() || name == "auto") return S3Style::kDefault;
  if (name == "path") return S3Style::kPath;
  if (name == "virtual") return S3Style::kVirtual;
  return Error{.code = Code::kUsage,
               .message = "'" + name + "' is no way to address buckets",
               .origin = {},
               .hint =
                   "Set HEADRACE_S3_STYLE, or addressing_style of the profile, to auto, path or "
                   "virtual."};
}

std::string first(const std::string& a, const std::string& b) { return a.empty() ? b : a; }

}  // namespace

Result<S3Options> S3Options::from_environment() {
  HR_TRY(const AwsProfiles profiles, AwsProfiles::read());
  const std::string profile = AwsProfiles::chosen();
  S3Options options;
  options.region =
      first(environment({"AWS_REGION", "AWS_DEFAULT_REGION"}), profiles.get(profile, "region"));
  options.requester_pays = environment_flag({"HEADRACE_S3_REQUEST_PAYER"}) ||
                           environment("HEADRACE_S3_REQUEST_PAYER") == "requester";
  options.anonymous = environment_flag({"HEADRACE_S3_ANONYMOUS", "AWS_NO_SIGN_REQUEST"});
  const std::string endpoint = first(environment({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}),
                                     profiles.endpoint(profile, "s3"));
  if (!endpoint.empty()) {
    HR_TRY(options.endpoint.custom, Url::parse(endpoint));
    options.endpoint.custom->query.clear();
  }
  HR_TRY(options.endpoint.style, style_of(first(environment("HEADRACE_S3_STYLE"),
                                                profiles.get(profile, "s3.addressing_style"))));
  return options;
}

}  // namespace headrace
