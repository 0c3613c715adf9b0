// Any bytes as what a bucket service, a cluster, the Hub, a web server, a metadata service or a
// profile says: values or errors, and no path that leads out of where it was asked for.
#include <cstdlib>
#include <string>

#include "base/safe_path.h"
#include "io/ais/cluster_map.h"
#include "io/az/az_service.h"
#include "io/bucket/bearer.h"
#include "io/bucket/part_object.h"
#include "io/gs/gs_service.h"
#include "io/hf/hf_listing.h"
#include "io/http/multistatus.h"
#include "io/s3/answers.h"
#include "io/s3/aws_profile.h"
#include "io/s3/credential_chain.h"
#include "io/s3/s3_service.h"
#include "io/s3/service_error.h"
#include "io/timestamp.h"

namespace {

using namespace headrace;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_listings(const std::string& text) {
  HfTree tree;
  if (add_tree_page(text, &tree))
    for (const auto& [path, file] : tree) require(is_safe_path(path));
  static const Url root = *Url::parse("https://host/data");
  const auto listed = parse_multistatus(text, root, "/data/a b/");
  if (!listed) return;
  for (const StoreEntry& file : listed->files)
    require(is_safe_path(file.path) && file.path.starts_with("a b/"));
  for (const std::string& folder : listed->folders)
    require(is_safe_path(folder) && folder.starts_with("a b/"));
}

// What is held there is named in a completion, and at Google removed after it.
void check_unfinished(const GsService& google, const AzService& azure, const HttpResponse& answer) {
  static const S3Service aws("s3", "bucket", {}, nullptr);
  Unfinished found;
  if (google.parse_unfinished("key", answer, &found).ok())
    for (const auto& [proof, part] : found.parts)
      require(is_part_object(part.mark) && part.mark.starts_with("key"));
  static_cast<void>(azure.parse_unfinished("key", answer, &found));
  for (const char* id : {"", "an-upload"}) {
    found = {.id = id};
    if (!aws.parse_unfinished("key", answer, &found).ok()) continue;
    require(found.is_whole || !found.id.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_listings(text);
  static_cast<void>(parse_s3_list(text, "s3://bucket"));
  static_cast<void>(parse_s3_upload_id(text, "s3://bucket"));
  static_cast<void>(parse_fault(text));
  static_cast<void>(parse_credentials(text, "a service"));
  static_cast<void>(parse_iso_time(text));
  static_cast<void>(parse_http_time(text));
  if (const auto map = ClusterMap::parse(text, "ais://bucket"); map.ok())
    require(map->targets() > 0 || map->owner("bucket", "object") == nullptr);
  static const Url endpoint = *Url::parse("https://host");
  static const GsService google("bucket", endpoint, true, nullptr);
  static const AzService azure("container", endpoint, {});
  HttpResponse answer;
  answer.status = 200;
  answer.body = text;
  static_cast<void>(google.parse_list(answer));
  static_cast<void>(azure.parse_list(answer));
  check_unfinished(google, azure, answer);
  static_cast<void>(parse_token(answer, "a service"));
  AwsProfiles profiles;
  profiles.add(text, true);
  profiles.add(text, false);
  static_cast<void>(profiles.endpoint("default", "s3"));
  return 0;
}
