#include "io/ais/ais_store.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/try.h"
#include "io/environment.h"
#include "io/http/curl.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

constexpr int kMostLists = 4;

struct Member {
  std::string archive;
  std::string path;
};

/// "a/b.tar/c/d.jpg" -> {"a/b.tar", "c/d.jpg"}
std::optional<Member> member_of(const std::string& path) {
  constexpr std::array<std::string_view, 5> kArchives{".tar/", ".tgz/", ".tar.gz/", ".tar.lz4/",
                                                      ".zip/"};
  size_t end = std::string::npos;
  for (const std::string_view suffix : kArchives)
    if (const size_t at = path.find(suffix); at != std::string::npos)
      end = std::min(end, at + suffix.size() - 1);
  if (end == std::string::npos || end + 1 == path.size()) return std::nullopt;
  return Member{path.substr(0, end), path.substr(end + 1)};
}

/// The gateway, and what is left of the location: "bucket/folder".
Result<std::pair<Url, std::string>> split_gateway(const std::string& location) {
  std::string rest = location.substr(std::min(location.find(':') + 1, location.size()));
  rest.erase(0, std::min(rest.find_first_not_of('/'), rest.size()));
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string endpoint = environment("AIS_ENDPOINT");
  if (rest.substr(0, slash).find(':') != std::string::npos) {
    endpoint = "http://" + rest.substr(0, slash);
    rest.erase(0, std::min(slash + 1, rest.size()));
  }
  if (endpoint.empty())
    return Error{.code = Code::kUsage,
                 .message = "it is not known where the AIStore cluster is",
                 .origin = {.shard = location},
                 .hint = "Set AIS_ENDPOINT to its gateway, as http://127.0.0.1:8080."};
  HR_TRY(Url url, Url::parse(endpoint));
  return std::pair(std::move(url), std::move(rest));
}

}  // namespace

Result<std::shared_ptr<Store>> AisStore::open_location(const std::string& location) {
  HR_CHECK(load_curl());
  HR_TRY(auto split, split_gateway(location));
  auto& [endpoint, rest] = split;
  HR_TRY(const BucketLocation parsed, BucketLocation::parse("ais:" + rest));
  HR_TRY(auto cluster, AisCluster::of(endpoint));
  const size_t named = location.find(rest);
  auto service = std::make_shared<const AisService>(cluster, parsed.bucket,
                                                    location.substr(0, named) + parsed.bucket);
  return std::shared_ptr<Store>(
      std::make_shared<AisStore>(std::move(cluster), std::move(service), parsed.prefix));
}

AisStore::AisStore(std::shared_ptr<AisCluster> cluster, std::shared_ptr<const AisService> service,
                   const std::string& folder)
    : BucketStore(cluster->shared_fetcher(), service, folder),
      cluster_(std::move(cluster)),
      service_(std::move(service)),
      folder_(folder.empty() ? "" : folder + "/") {}

Result<std::unique_ptr<ByteSource>> AisStore::open(const std::string& path) const {
  if (!member_of(folder_ + path)) return BucketStore::open(path);
  HR_TRY(std::string bytes, read(path));
  return open_bytes(name() + "/" + path, std::make_shared<const std::string>(std::move(bytes)));
}

Result<std::string> AisStore::read(const std::string& path) const {
  const auto member = member_of(folder_ + path);
  if (!member) return BucketStore::read(path);
  HR_CHECK(service_->ready());
  HR_TRY(HttpResponse answer,
         cluster_->fetcher().send(service_->member(member->archive, member->path)));
  if (!answer.is_success()) return service_->error("read", name() + "/" + path, answer);
  return std::move(answer.body);
}

Result<std::vector<StoreEntry>> AisStore::list(const std::string& prefix) const {
  HR_TRY(std::string before, cluster_->map_version());
  for (int i = 0; i < kMostLists; ++i) {
    HR_TRY(auto entries, BucketStore::list(prefix));
    HR_TRY(std::string after, cluster_->map_version());
    if (after == before) return entries;
    before = std::move(after);
  }
  return Error{.message =
                   "the targets of the AIStore cluster come and go, so that its list of "
                   "objects cannot be relied on",
               .origin = {.shard = name()},
               .hint = "Try again when the cluster is at rest."};
}

}  // namespace headrace
