#include "io/s3/endpoint.h"

namespace headrace {
namespace {

Url aws(const std::string& region) {
  const std::string domain = region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
  Url url;
  url.scheme = "https";
  url.host = "s3." + region + domain;
  return url;
}

}  // namespace

Url S3Endpoint::url(const std::string& bucket, std::string_view key,
                    const std::string& region) const {
  Url url = custom ? *custom : aws(region);
  const bool virtual_host = style == S3Style::kVirtual || (style == S3Style::kDefault && !custom &&
                                                           bucket.find('.') == std::string::npos);
  if (url.path.ends_with('/')) url.path.pop_back();
  if (virtual_host)
    url.host.insert(0, bucket + ".");
  else
    url.path += "/" + percent_encode(bucket);
  if (virtual_host || !key.empty()) url.path += "/" + percent_encode(key, "/");
  return url;
}

}  // namespace headrace
