// A Store on a bucket, or on what lies below a prefix in it. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "headrace/store.h"
#include "io/bucket/bucket_service.h"

namespace headrace {

class BucketStore : public Store {
 public:
  /// `prefix` is without '/' at its ends; "" is the bucket itself.
  BucketStore(std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const BucketService> service,
              std::string prefix);

  const std::string& name() const override { return name_; }
  Result<std::unique_ptr<ByteSource>> open(const std::string& path) const override;
  Result<std::unique_ptr<ByteSource>> open_known(const std::string& path,
                                                 uint64_t bytes) const override;
  Result<std::string> read(const std::string& path) const override;
  Result<bool> exists(const std::string& path) const override;
  Result<std::vector<StoreEntry>> list(const std::string& prefix) const override;
  Result<std::unique_ptr<ByteSink>> create(const std::string& path) override;
  Status remove(const std::string& path) override;
  bool creates_atomically() const override { return service_->refuses_second_put(); }
  /// What the service has acknowledged is stored.
  Status sync() override { return {}; }

 private:
  std::string key(const std::string& path) const;
  Result<HttpResponse> head(const std::string& key) const;

  const std::shared_ptr<Fetcher> fetcher_;
  const std::shared_ptr<const BucketService> service_;
  const std::string prefix_;
  const std::string name_;
};

/// "s3://bucket/some/prefix" -> {"bucket", "some/prefix"}. Keys are not decoded: they are written
/// as they are. Code::kUsage if there is no bucket.
struct BucketLocation {
  std::string bucket;
  std::string prefix;
  static Result<BucketLocation> parse(const std::string& location);
};

}  // namespace headrace
