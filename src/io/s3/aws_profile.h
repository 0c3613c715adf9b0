// What ~/.aws/config and ~/.aws/credentials say: the files that every tool for AWS reads.
// Plain values. AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name other files.
#pragma once

#include <map>
#include <string>

#include "headrace/result.h"

namespace headrace {

class AwsProfiles {
 public:
  using Settings = std::map<std::string, std::string>;

  /// A file that is not there is empty; one that cannot be read is Code::kDenied.
  static Result<AwsProfiles> read();
  /// `is_config`: profiles are called "profile NAME" there (but for "default").
  void add(const std::string& text, bool is_config);

  /// The name that AWS_PROFILE or AWS_DEFAULT_PROFILE gives, else "default".
  static std::string chosen();
  /// Settings of a profile, of both files, those of the credentials file first; nullptr if there is
  /// no such profile. What is nested below `s3 =` is called "s3.NAME".
  const Settings* find(const std::string& profile) const;
  /// One setting, or "".
  std::string get(const std::string& profile, const std::string& setting) const;
  /// The endpoint that a profile gives to a service: of its services section, else its own; or "".
  std::string endpoint(const std::string& profile, const std::string& service) const;

 private:
  std::map<std::string, Settings> profiles_;
  std::map<std::string, Settings> services_;
};

}  // namespace headrace
