#include "io/az/az_store.h"

#include "base/try.h"
#include "io/az/azure_setup.h"
#include "io/bucket/bucket_store.h"

namespace headrace {

Result<std::shared_ptr<Store>> open_az_store(const std::string& location) {
  HR_TRY(BucketLocation place, BucketLocation::parse(location));
  std::shared_ptr<Fetcher> fetcher = Fetcher::shared();
  HR_TRY(AzureSetup setup, AzureSetup::from_environment(fetcher));
  auto service = std::make_shared<const AzService>(
      std::move(place.bucket), std::move(setup.endpoint), std::move(setup.access));
  return std::shared_ptr<Store>(std::make_shared<BucketStore>(
      std::move(fetcher), std::move(service), std::move(place.prefix)));
}

}  // namespace headrace
