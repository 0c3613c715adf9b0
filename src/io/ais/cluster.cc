#include "io/ais/cluster.h"

#include <algorithm>
#include <map>

#include "base/stop_scope.h"
#include "base/try.h"
#include "io/ais/ais_error.h"
#include "io/environment.h"
#include "io/local_source.h"

namespace headrace {
namespace {

constexpr const char* kMapPath = "/v1/daemon";
constexpr const char* kMapQuery = "what=smap";
constexpr const char* kProvider = "provider=ais";
constexpr size_t kMostPlaces = 200'000;

class BearerToken : public Signer {
 public:
  explicit BearerToken(const std::string& token) : value_("Bearer " + token) {}
  Status sign(HttpRequest& request) const override {
    request.headers.set("Authorization", value_);
    return {};
  }

 private:
  const std::string value_;
};

Result<std::string> read_token() {
  std::string token = environment("AIS_AUTHN_TOKEN");
  if (const std::string path = environment("AIS_AUTHN_TOKEN_FILE");
      token.empty() && !path.empty()) {
    HR_TRY(const auto file, open_local_file(path));
    token.resize(file->size());
    HR_CHECK(file->read_at(0, as_writable_bytes(token)));
  }
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  return token;
}

}  // namespace

std::string AisName::path() const {
  return "/v1/objects/" + percent_encode(bucket) + "/" + percent_encode(object, "/");
}

/// What to do when an attempt to read failed: one for each read.
class AisCluster::Again {
 public:
  Again(std::shared_ptr<AisCluster> cluster, AisName name, bool direct)
      : cluster_(std::move(cluster)), name_(std::move(name)), direct_(direct) {
    const std::scoped_lock lock(cluster_->mutex_);
    if (cluster_->map_) version_ = cluster_->map_->version();
  }

  bool operator()(Url& url, const HttpResponse* answer, bool usual) {
    const bool missing = answer != nullptr && answer->status == 404;
    const bool refused = answer != nullptr && (answer->status == 401 || answer->status == 403);
    if (answer != nullptr && !missing && !(refused && direct_)) return usual;
    if (missing && !may_come_back(*answer)) return false;
    cluster_->forget(name_);
    cluster_->refresh();
    url = cluster_->at_gateway(name_.path(), kProvider);
    direct_ = false;
    return usual || missing || refused;
  }

 private:
  bool may_come_back(const HttpResponse& answer) {
    if (direct_) return true;  // the gateway has the last word
    if (is_missing_bucket(answer)) return false;
    if (!std::exchange(looked_again_, true)) return true;
    return cluster_->is_shaken(version_);
  }

  const std::shared_ptr<AisCluster> cluster_;
  const AisName name_;
  std::string version_;  // of the map when the read began
  bool direct_;          // the gateway was not asked
  bool looked_again_ = false;
};

AisCluster::AisCluster(Url endpoint, std::string token, std::shared_ptr<Fetcher> fetcher)
    : endpoint_(std::move(endpoint)),
      token_(std::move(token)),
      signer_(token_.empty() ? nullptr : std::make_shared<BearerToken>(token_)),
      fetcher_(std::move(fetcher)) {}

Result<std::shared_ptr<AisCluster>> AisCluster::of(const Url& endpoint) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<AisCluster>> clusters;
  HR_TRY(std::string token, read_token());
  const std::shared_ptr<Fetcher> fetcher = Fetcher::shared();
  const std::scoped_lock lock(mutex);
  std::weak_ptr<AisCluster>& known = clusters[endpoint.origin()];
  if (auto cluster = known.lock();
      cluster && cluster->token_ == token && cluster->fetcher_ == fetcher)
    return cluster;
  auto cluster = std::make_shared<AisCluster>(endpoint, std::move(token), fetcher);
  known = cluster;
  return cluster;
}

Url AisCluster::at_gateway(const std::string& path, const std::string& query) const {
  Url url = endpoint_;
  url.path = path;
  url.query = query;
  return url;
}

HttpCall AisCluster::call(const std::string& method, const std::string& path,
                          const std::string& query, const std::string& object) const {
  HttpCall call{.request = {}, .object = object, .signer = signer_, .redirects = 1};
  call.request.method = method;
  call.request.url = at_gateway(path, query.empty() ? kProvider : query + "&" + kProvider);
  call.again = [gateway = call.request.url](Url& url, const HttpResponse* answer, bool usual) {
    if (answer == nullptr) url = gateway;  // a target that is gone: the gateway names another
    return usual;
  };
  if (signer_)  // without a token there is nothing to keep from anybody
    call.trusted = [self = shared_from_this()](const Url& url) { return self->is_target(url); };
  return call;
}

HttpCall AisCluster::read(const AisName& name, const std::string& object) {
  HttpCall call = this->call("GET", name.path(), "", object);
  const std::optional<Url> known = place(name);
  if (known) call.request.url = *known;
  call.again = Again(shared_from_this(), name, known.has_value());
  return call;
}

std::optional<Url> AisCluster::place(const AisName& name) const {
  std::string path = name.path();
  const std::scoped_lock lock(mutex_);
  if (const auto found = places_.find(path); found != places_.end()) return found->second;
  if (!map_ || signer_) return std::nullopt;  // with a token, targets want the gateway's mark
  const Url* owner = map_->owner(name.bucket, name.object);
  if (owner == nullptr) return std::nullopt;
  Url url = *owner;
  url.path = std::move(path);
  url.query = kProvider;
  return url;
}

void AisCluster::found(const AisName& name, const Url& url) {
  if (const auto known = place(name); known && known->same_origin(url)) return;
  const std::scoped_lock lock(mutex_);
  if (places_.size() >= kMostPlaces) places_.clear();
  places_.insert_or_assign(name.path(), url);
}

void AisCluster::forget(const AisName& name) {
  const std::scoped_lock lock(mutex_);
  places_.erase(name.path());
}

void AisCluster::take_map(const HttpResponse& answer) {
  if (!answer.is_success()) return;
  auto map = ClusterMap::parse(answer.body, endpoint_.origin());
  if (!map.ok()) return;
  const std::scoped_lock lock(mutex_);
  most_targets_ = std::max(most_targets_, map->targets());
  if (map_ && map_->version() != map->version()) places_.clear();  // objects move with it
  map_ = std::move(*map);
}

void AisCluster::refresh() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(refreshing_, true)) return;
  }
  const StopScope everybodys({});
  fetcher_->start(call("GET", kMapPath, kMapQuery, endpoint_.origin()),
                  [self = shared_from_this()](Result<HttpResponse> answer) {
                    if (answer.ok()) self->take_map(*answer);
                    const std::scoped_lock lock(self->mutex_);
                    self->refreshing_ = false;
                  });
}

Result<std::string> AisCluster::map_version() {
  HR_TRY(const HttpResponse answer,
         fetcher_->send(call("GET", kMapPath, kMapQuery, endpoint_.origin())));
  if (!answer.is_success()) return ais_error("ask for the cluster map", endpoint_.origin(), answer);
  HR_TRY(const ClusterMap map, ClusterMap::parse(answer.body, endpoint_.origin()));
  take_map(answer);
  return map.version();
}

Status AisCluster::ready() {
  {
    const std::scoped_lock lock(mutex_);
    if (!signer_ || map_) return {};
  }
  HR_TRY(const std::string version, map_version());
  return {};
}

bool AisCluster::is_target(const Url& url) const {
  const std::scoped_lock lock(mutex_);
  return map_ && map_->has(url);
}

bool AisCluster::is_shaken(const std::string& version_before) const {
  const std::scoped_lock lock(mutex_);
  if (refreshing_ || !map_) return true;
  const bool moved = !version_before.empty() && map_->version() != version_before;
  return moved || map_->targets() < most_targets_;
}

}  // namespace headrace
