#include "io/s3/s3_store.h"

#include "base/try.h"
#include "io/bucket/bucket_store.h"
#include "io/s3/credential_chain.h"
#include "io/s3/s3_service.h"

namespace headrace {

Result<std::shared_ptr<Store>> open_s3_store(const std::string& location) {
  HR_TRY(BucketLocation place, BucketLocation::parse(location));
  HR_TRY(S3Options options, S3Options::from_environment());
  std::shared_ptr<Fetcher> fetcher = Fetcher::shared();
  std::shared_ptr<S3Signer> signer;
  if (!options.anonymous)
    signer = std::make_shared<S3Signer>(shared_credentials(fetcher),
                                        options.region.empty() ? "us-east-1" : options.region);
  auto service = std::make_shared<const S3Service>("s3", std::move(place.bucket),
                                                   std::move(options), std::move(signer));
  return std::shared_ptr<Store>(std::make_shared<BucketStore>(
      std::move(fetcher), std::move(service), std::move(place.prefix)));
}

}  // namespace headrace
