#include "io/gs/gs_store.h"

#include <map>
#include <mutex>

#include "base/try.h"
#include "io/bucket/bucket_store.h"
#include "io/environment.h"
#include "io/gs/google_token.h"
#include "io/gs/gs_service.h"
#include "io/s3/s3_service.h"

namespace headrace {
namespace {

constexpr const char* kEndpoint = "https://storage.googleapis.com";

Result<Url> endpoint_of(const std::string& emulator) {
  if (emulator.empty()) return Url::parse(kEndpoint);
  return Url::parse(emulator.find("://") == std::string::npos ? "http://" + emulator : emulator);
}

// One token for all stores of this process and setup. Never destroyed: a renewal may be under way
// when the process ends.
std::shared_ptr<Renewed<BearerToken>> shared_tokens(std::shared_ptr<Fetcher> fetcher) {
  static auto& mutex = *new std::mutex;                                                    // NOLINT
  static auto& known = *new std::map<std::string, std::shared_ptr<Renewed<BearerToken>>>;  // NOLINT
  std::string setup;
  for (const char* name : {"GOOGLE_OAUTH_ACCESS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS",
                           "CLOUDSDK_CONFIG", "HOME", "GCE_METADATA_HOST"})
    setup += environment(name) + '\n';
  const std::lock_guard lock(mutex);
  auto& tokens = known[setup];
  if (!tokens)
    tokens = std::make_shared<Renewed<BearerToken>>(
        [fetcher = std::move(fetcher)] { return find_google_token(*fetcher); });
  return tokens;
}

// Keys for programs that speak S3.
std::shared_ptr<const BucketService> hmac_service(const std::string& bucket, Url endpoint,
                                                  S3Credentials keys) {
  S3Options options;
  options.endpoint = {std::move(endpoint), S3Style::kPath};
  auto credentials = std::make_shared<Renewed<S3Credentials>>(
      [keys = std::move(keys)]() -> Result<S3Credentials> { return keys; });
  return std::make_shared<const S3Service>(
      "gs", bucket, std::move(options), std::make_shared<S3Signer>(std::move(credentials), "auto"));
}

}  // namespace

Result<std::shared_ptr<Store>> open_gs_store(const std::string& location) {
  HR_TRY(const BucketLocation place, BucketLocation::parse(location));
  const std::string emulator = environment("STORAGE_EMULATOR_HOST");
  HR_TRY(Url endpoint, endpoint_of(emulator));
  endpoint.path.clear();
  const std::shared_ptr<Fetcher> fetcher = Fetcher::shared();
  const S3Credentials keys{environment("HEADRACE_GS_ACCESS_KEY_ID"),
                           environment("HEADRACE_GS_SECRET_ACCESS_KEY")};
  std::shared_ptr<const BucketService> service;
  if (!keys.access_key.empty() && !keys.secret_key.empty()) {
    service = hmac_service(place.bucket, std::move(endpoint), keys);
  } else {
    std::shared_ptr<const BearerSigner> signer;
    if (!environment_flag({"HEADRACE_GS_ANONYMOUS"}))
      signer = std::make_shared<const BearerSigner>(shared_tokens(fetcher));
    service = std::make_shared<const GsService>(place.bucket, std::move(endpoint),
                                                !emulator.empty(), std::move(signer));
  }
  return std::shared_ptr<Store>(
      std::make_shared<BucketStore>(fetcher, std::move(service), place.prefix));
}

}  // namespace headrace
