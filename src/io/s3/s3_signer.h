// Signs for one bucket, where and when the service says it is. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "io/http/fetcher.h"
#include "io/s3/signature_v4.h"

namespace headrace {

class S3Signer : public Signer {
 public:
  S3Signer(std::shared_ptr<Renewed<S3Credentials>> credentials, std::string region);

  /// Code::kDenied before the first ready().
  Status sign(HttpRequest& request) const override;
  /// Waits until there are credentials.
  Status ready() const;

  std::string region() const;
  void set_region(std::string region);
  /// The server's clock is this much ahead of ours.
  void set_skew(std::chrono::seconds skew) { skew_ = skew.count(); }

 private:
  const std::shared_ptr<Renewed<S3Credentials>> credentials_;
  mutable std::mutex mutex_;
  std::string region_;
  std::atomic<int64_t> skew_ = 0;
};

}  // namespace headrace
