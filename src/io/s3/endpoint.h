// Where the requests for a bucket go: the address of an object.
// Plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/http/url.h"

namespace headrace {

/// https://bucket.host/key, or https://host/bucket/key. By default the first at AWS, but for names
/// with dots (they do not match its certificates), and the second everywhere else.
enum class S3Style { kDefault, kVirtual, kPath };

struct S3Endpoint {
  std::optional<Url> custom = {};  ///< nothing: AWS
  S3Style style = S3Style::kDefault;

  /// The bucket itself has the empty key. Keys are any bytes; they are encoded here.
  Url url(const std::string& bucket, std::string_view key, const std::string& region) const;
};

}  // namespace headrace
