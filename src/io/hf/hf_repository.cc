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
constexpr size_t kMostPages = 100'000;

bool is_commit(const std::string& revision) {
  return revision.size() == 40 &&
         revision.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Error not_understood(const std::string& name) {
  return {.code = Code::kCorrupt,
          .message = "the answer is not one of the Hub",
          .origin = {.shard = name},
          .hint = "If HF_ENDPOINT is set, check that it is the address of a Hub."};
}

Error not_here(const std::string& name) {
  return {.code = Code::kNotFound,
          .message = "the repository is not in the Hub's cache, and HF_HUB_OFFLINE is set",
          .origin = {.shard = name},
          .hint = "Unset HF_HUB_OFFLINE, or fill the cache with 'hf download' first."};
}

/// Adds the files of one page of a tree listing.
bool add_page(const json& page, HfTree* tree) {
  if (!page.is_array()) return false;
  for (const json& entry : page) {
    if (text_of(entry, "type") != "file") continue;
    const std::string path = text_of(entry, "path");
    const auto bytes = number_of(entry, "size");
    if (!is_safe_path(path) || !bytes) return false;
    HfFile file{.bytes = *bytes,
                .blob_id = text_of(entry, "oid"),
                .sha256 = text_of(field_of(entry, "lfs"), "oid"),
                .xet_hash = text_of(entry, "xetHash")};
    if (file.etag().empty()) return false;
    tree->insert_or_assign(path, std::move(file));
  }
  return true;
}

/// Of `Link: <address>; rel="next"`, the address.
std::string_view next_page(const HttpResponse& answer) {
  const std::string_view link = answer.headers.get("Link");
  const size_t end = link.find(">; rel=\"next\"");
  if (end == std::string_view::npos) return "";
  const size_t begin = link.rfind('<', end);
  return begin == std::string_view::npos ? "" : link.substr(begin + 1, end - begin - 1);
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
  commit_ = location_.revision;
  if (!is_commit(commit_)) {
    const auto recent = cache_.read_ref(location_.revision, kSameStart);
    if (recent && is_commit(*recent)) {
      commit_ = *recent;
    } else {
      HR_TRY(commit_, ask_commit());
      cache_.write_ref(location_.revision, commit_);
    }
  }
  auto tree = cache_.read_tree(commit_);
  if (!tree) {
    HR_TRY(tree, ask_tree(commit_));
    cache_.write_tree(commit_, *tree);
  }
  tree_ = std::make_shared<const HfTree>(std::move(*tree));
  return {};
}

Status HfRepository::load_offline() {
  commit_ = is_commit(location_.revision)
                ? location_.revision
                : cache_.read_ref(location_.revision, kAnyAge).value_or("");
  if (commit_.empty()) return not_here(location_.name());
  auto tree = cache_.read_tree(commit_);
  if (!tree) tree = cache_.scan_snapshot(commit_);
  if (tree->empty()) return not_here(location_.name());
  tree_ = std::make_shared<const HfTree>(std::move(*tree));
  return {};
}

Result<std::string> HfRepository::ask_commit() const {
  HttpCall call = this->call("GET", api("/revision/" + percent_encode(location_.revision)));
  call.redirects = 3;  // a repository that was renamed
  HR_TRY(const HttpResponse answer, fetcher_->send(std::move(call)));
  if (!answer.is_success()) return error("open", location_.name(), answer);
  const json root = json::parse(answer.body, nullptr, false);
  std::string sha = text_of(root, "sha");
  if (!is_commit(sha)) return not_understood(location_.name());
  return sha;
}

Result<HfTree> HfRepository::ask_tree(const std::string& commit) const {
  HfTree tree;
  Url url = api("/tree/" + commit, "recursive=true&expand=false");
  for (size_t page = 0; page < kMostPages; ++page) {
    HttpCall call = this->call("GET", url);
    call.redirects = 3;
    HR_TRY(const HttpResponse answer, fetcher_->send(std::move(call)));
    if (!answer.is_success()) return error("list", location_.name(), answer);
    const size_t before = tree.size();
    if (!add_page(json::parse(answer.body, nullptr, false), &tree))
      return not_understood(location_.name());
    const std::string_view next = next_page(answer);
    if (next.empty()) return tree;
    HR_TRY(url, settings_.mirrored(url, next));
    if (tree.size() == before && page > 0 && answer.body.size() < 3)
      return not_understood(location_.name());  // empty pages for ever
  }
  return not_understood(location_.name());
}

std::string HfRepository::commit() const {
  const std::scoped_lock lock(mutex_);
  return commit_;
}

std::shared_ptr<const HfTree> HfRepository::tree() const {
  const std::scoped_lock lock(mutex_);
  return tree_;
}

void HfRepository::committed(const std::string& commit, HfTree tree) {
  const std::scoped_lock lock(mutex_);
  commit_ = commit;
  tree_ = std::make_shared<const HfTree>(std::move(tree));
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
