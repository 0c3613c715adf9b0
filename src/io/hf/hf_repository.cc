#include "io/hf/hf_repository.h"

#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/safe_path.h"
#include "base/try.h"
#include "io/hf/hf_error.h"
#include "io/json_fields.h"

namespace headrace {
namespace {

using nlohmann::json;

/// Processes that start together agree on what a branch means; later ones see what is new.
constexpr std::chrono::seconds kSameStart(30);
constexpr std::chrono::seconds kAnyAge = std::chrono::hours(24 * 365 * 100);

bool is_commit(const std::string& revision) {
  return revision.size() == 40 &&
         revision.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Error not_here(const std::string& name) {
  return {.code = Code::kNotFound,
          .message = "the repository is not in the Hub's cache, and HF_HUB_OFFLINE is set",
          .origin = {.shard = name},
          .hint = "Unset HF_HUB_OFFLINE, or fill the cache with 'hf download' first."};
}

}  // namespace

Result<std::shared_ptr<HfRepository>> HfRepository::open(const HfLocation& location) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<HfRepository>> repositories;
  HR_TRY(HfSettings settings, HfSettings::from_environment());
  const std::string key = settings.endpoint.to_string() + "\n" + settings.cache + "\n" +
                          settings.token + "\n" + location.name() + "\n" +
                          std::to_string(::getpid());  // a child of fork() has another fetcher
  const std::scoped_lock lock(mutex);
  if (auto known = repositories[key].lock()) return known;
  auto repository = std::make_shared<HfRepository>(std::move(settings), location);
  HR_CHECK(repository->load());
  repositories[key] = repository;
  return repository;
}

HfRepository::HfRepository(HfSettings settings, HfLocation location)
    : settings_(std::move(settings)),
      location_(std::move(location)),
      signer_(settings_.signer()),
      fetcher_(Fetcher::shared()),
      cache_(settings_, location_) {}

Status HfRepository::load() {
  if (settings_.offline) return load_offline();
  const File lock = cache_.lock("headrace-tree");
  std::string commit = location_.revision;
  if (!is_commit(commit)) {
    const auto recent = cache_.read_ref(location_.revision, kSameStart);
    if (recent && is_commit(*recent)) {
      commit = *recent;
    } else {
      HR_TRY(commit, ask_commit());
      cache_.write_ref(location_.revision, commit);
    }
  }
  listing_ = std::make_shared<HfListing>(*this, std::move(commit));
  return {};
}

Status HfRepository::load_offline() {
  const std::string commit = is_commit(location_.revision)
                                 ? location_.revision
                                 : cache_.read_ref(location_.revision, kAnyAge).value_or("");
  if (commit.empty()) return not_here(location_.name());
  auto tree = cache_.read_tree(commit);
  if (!tree) tree = cache_.scan_snapshot(commit);
  if (tree->empty()) return not_here(location_.name());
  listing_ =
      std::make_shared<HfListing>(*this, commit, std::make_shared<const HfTree>(std::move(*tree)));
  return {};
}

Result<std::string> HfRepository::ask_commit() const {
  HttpCall call = this->call("GET", api("/revision/" + percent_encode(location_.revision)));
  call.redirects = 3;  // a repository that was renamed
  HR_TRY(const HttpResponse answer, fetcher_->send(std::move(call)));
  if (!answer.is_success()) return error("open", location_.name(), answer);
  const json root = json::parse(answer.body, nullptr, false);
  std::string sha = text_of(root, "sha");
  if (!is_commit(sha)) return not_understood();
  return sha;
}

Error HfRepository::not_understood() const {
  return {.code = Code::kCorrupt,
          .message = "the answer is not one of the Hub",
          .origin = {.shard = location_.name()},
          .hint = "If HF_ENDPOINT is set, check that it is the address of a Hub."};
}

std::shared_ptr<HfListing> HfRepository::listing() const {
  const std::scoped_lock lock(mutex_);
  return listing_;
}

void HfRepository::committed(const std::string& commit, HfTree tree) {
  const std::scoped_lock lock(mutex_);
  listing_ =
      std::make_shared<HfListing>(*this, commit, std::make_shared<const HfTree>(std::move(tree)));
  cache_.write_ref(location_.revision, commit);
}

Url HfRepository::api(const std::string& rest, const std::string& query) const {
  return settings_.url("/api/" + location_.kind + "/" + location_.id + rest, query);
}

std::string HfRepository::route() const {
  return location_.kind == "datasets" ? "datasets/" + location_.id : location_.id;
}

Url HfRepository::resolve(const std::string& path) const {
  return settings_.url("/" + route() + "/resolve/" + commit() + "/" + percent_encode(path, "/"));
}

HttpCall HfRepository::call(const std::string& method, Url url) const {
  HttpCall call{.request = {}, .object = location_.name(), .signer = signer_};
  call.request.method = method;
  call.request.url = std::move(url);
  return call;
}

Error HfRepository::error(std::string_view action, const std::string& object,
                          const HttpResponse& answer) const {
  return hf_error(action, object, answer, location_, settings_);
}

}  // namespace headrace
