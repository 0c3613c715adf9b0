// Any bytes as what a bucket service, a metadata service or a profile says: values or errors.
#include <string>

#include "io/s3/answers.h"
#include "io/s3/aws_profile.h"
#include "io/s3/credential_chain.h"
#include "io/s3/service_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(parse_s3_list(text, "s3://bucket"));
  static_cast<void>(parse_s3_upload_id(text, "s3://bucket"));
  static_cast<void>(parse_fault(text));
  static_cast<void>(parse_credentials(text, "a service"));
  static_cast<void>(parse_timestamp(text));
  AwsProfiles profiles;
  profiles.add(text, true);
  profiles.add(text, false);
  static_cast<void>(profiles.endpoint("default", "s3"));
  return 0;
}
