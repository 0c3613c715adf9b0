#include "io/hf/hf_listing.h"

#include <nlohmann/json.hpp>

#include "base/safe_path.h"
#include "base/try.h"
#include "io/hf/hf_repository.h"
#include "io/json_fields.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr size_t kMostPages = 100'000;
constexpr size_t kMostByName = 4;  // a manifest and its tables; who needs more needs the tree

/// Of `Link: <address>; rel="next"`, the address.
std::string_view next_page(const HttpResponse& answer) {
  const std::string_view link = answer.headers.get("Link");
  const size_t end = link.find(">; rel=\"next\"");
  if (end == std::string_view::npos) return "";
  const size_t begin = link.rfind('<', end);
  return begin == std::string_view::npos ? "" : link.substr(begin + 1, end - begin - 1);
}

std::string few_name(const std::string& commit) { return commit + ".few"; }

}  // namespace

bool add_tree_page(std::string_view body, HfTree* tree) {
  const json page = json::parse(body, nullptr, false);
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

HfListing::HfListing(const HfRepository& repository, std::string commit,
                     std::shared_ptr<const HfTree> tree)
    : repository_(repository), commit_(std::move(commit)), tree_(std::move(tree)) {}

Result<std::optional<HfFile>> HfListing::find(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (const auto file = known(path)) return *file;
  const HfCache& cache = repository_.cache();
  const File other_processes = cache.lock("headrace-tree");
  auto few = cache.read_tree(few_name(commit_));
  if (few) few_.merge(*few);
  if (take_cached_tree() || few_.contains(path)) return *known(path);
  // The first file that anybody asks for is a manifest as a rule, and then it stays the only one.
  // With a second one it is worth knowing whether all files fit on a page.
  if (few_.size() == 1) {
    HR_CHECK(ask_pages(1));
    if (tree_) return *known(path);
    remember(pages_, path);
  }
  if (!few_.contains(path) && few_.size() < kMostByName)
    if (const auto found = ask_for(path); found.ok()) remember(*found, path);
  // It may not be there; and a mirror may not tell by name.
  if (!few_.contains(path)) HR_CHECK(ask_pages(kMostPages));
  return *known(path);
}

Result<std::shared_ptr<const HfTree>> HfListing::tree() {
  const std::scoped_lock lock(mutex_);
  if (tree_) return tree_;
  const File other_processes = repository_.cache().lock("headrace-tree");
  if (!take_cached_tree()) HR_CHECK(ask_pages(kMostPages));
  return tree_;
}

std::optional<std::optional<HfFile>> HfListing::find_known(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (!tree_ && !std::exchange(looked_into_cache_, true)) take_cached_tree();
  return known(path);
}

/// Nothing if the Hub has to be asked.
std::optional<std::optional<HfFile>> HfListing::known(const std::string& path) const {
  const HfTree& files = tree_ ? *tree_ : few_;
  if (const auto file = files.find(path); file != files.end()) return file->second;
  if (tree_) return std::optional<HfFile>();
  return std::nullopt;
}

bool HfListing::take_cached_tree() {
  auto tree = repository_.cache().read_tree(commit_);
  if (tree) tree_ = std::make_shared<const HfTree>(std::move(*tree));
  return tree.has_value();
}

void HfListing::remember(const HfTree& found, const std::string& path) {
  if (const auto file = found.find(path); file != found.end()) few_.insert(*file);
  repository_.cache().write_tree(few_name(commit_), few_);
}

/// Goes on with the list of the tree where it stopped; when all of it is here, it is `tree_`.
Status HfListing::ask_pages(size_t most) {
  Url url = repository_.api("/tree/" + commit_, "recursive=true&expand=false");
  if (next_page_) url = *next_page_;
  for (size_t page = 0; page < most; ++page) {
    HttpCall call = repository_.call("GET", url);
    call.redirects = 3;
    HR_TRY(const HttpResponse answer, repository_.fetcher()->send(std::move(call)));
    const std::string& name = repository_.location().name();
    if (!answer.is_success()) return repository_.error("list", name, answer);
    const size_t before = pages_.size();
    if (!add_tree_page(answer.body, &pages_)) return repository_.not_understood();
    const std::string_view next = next_page(answer);
    if (next.empty()) {
      repository_.cache().write_tree(commit_, pages_);
      tree_ = std::make_shared<const HfTree>(std::exchange(pages_, {}));
      return {};
    }
    HR_TRY(url, repository_.settings().mirrored(url, next));
    if (pages_.size() == before && next_page_ && answer.body.size() < 3)
      return repository_.not_understood();  // empty pages for ever
    next_page_ = url;
  }
  if (most == kMostPages) return repository_.not_understood();
  return {};
}

/// One file, by name; empty if it is not there.
Result<HfTree> HfListing::ask_for(const std::string& path) const {
  HttpCall call = repository_.call("POST", repository_.api("/paths-info/" + commit_));
  const auto body =
      std::make_shared<const std::string>(encode_query({{"paths", path}, {"expand", "false"}}));
  call.request.body = as_bytes(*body);
  call.request.body_owner = body;
  call.request.headers.set("Content-Type", "application/x-www-form-urlencoded");
  HR_TRY(const HttpResponse answer, repository_.fetcher()->send(std::move(call)));
  if (!answer.is_success())
    return repository_.error("look at", repository_.location().name() + "/" + path, answer);
  HfTree found;
  if (!add_tree_page(answer.body, &found)) return repository_.not_understood();
  return found;
}

}  // namespace headrace
