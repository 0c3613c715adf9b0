#include "io/s3/s3_signer.h"

#include "base/try.h"

namespace headrace {

S3Signer::S3Signer(std::shared_ptr<Renewed<S3Credentials>> credentials, std::string region)
    : credentials_(std::move(credentials)), region_(std::move(region)) {}

Status S3Signer::sign(HttpRequest& request) const {
  const auto credentials = credentials_->latest();
  if (!credentials)
    return Error{.code = Code::kDenied, .message = "there are no credentials yet", .origin = {}};
  const WallTime now = std::chrono::system_clock::now() + std::chrono::seconds(skew_);
  sign_v4(request, *credentials, {region()}, now);
  return {};
}

Status S3Signer::ready() const {
  HR_TRY(const auto credentials, credentials_->get());
  static_cast<void>(credentials);
  return {};
}

std::string S3Signer::region() const {
  const std::lock_guard lock(mutex_);
  return region_;
}

void S3Signer::set_region(std::string region) {
  const std::lock_guard lock(mutex_);
  region_ = std::move(region);
}

}  // namespace headrace
