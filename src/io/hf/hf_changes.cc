#include "io/hf/hf_changes.h"

#include <algorithm>

#include "base/try.h"
#include "io/hf/large_files.h"
#include "io/json_fields.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr size_t kSampleBytes = 512;    // of each file, from which the Hub tells its kind
constexpr size_t kMostQuestions = 256;  // files a request

std::string base64(ByteView bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? std::to_integer<uint32_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

HfChanges::HfChanges(std::shared_ptr<HfRepository> repository)
    : repository_(std::move(repository)) {}

Status HfChanges::add(const std::string& path, HfContent content) {
  Added added;
  added.file.bytes = content.bytes.size();
  added.file.sha256 = content.sha256;
  added.content = std::move(content);
  if (added.file.bytes >= kSmall) {
    HR_CHECK(upload_large(*repository_, {added.content}));
    added.content = {};
    added.is_large = true;
  }
  const std::scoped_lock lock(mutex_);
  removed_.erase(path);
  added_.insert_or_assign(path, std::move(added));
  return {};
}

Status HfChanges::remove(const std::string& path) {
  HR_TRY(const auto file, repository_->listing()->find(path));
  const std::scoped_lock lock(mutex_);
  added_.erase(path);
  if (file) removed_.insert(path);
  return {};
}

std::optional<bool> HfChanges::will_exist(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  if (added_.contains(path)) return true;
  if (removed_.contains(path)) return false;
  return std::nullopt;
}

std::optional<std::string> HfChanges::read(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  const auto found = added_.find(path);
  if (found == added_.end() || found->second.is_large) return std::nullopt;
  return std::string(as_text(found->second.content.bytes));
}

Result<HfTree> HfChanges::tree() const {
  HR_TRY(const auto now, repository_->listing()->tree());
  HfTree tree = *now;
  const std::scoped_lock lock(mutex_);
  for (const std::string& path : removed_) tree.erase(path);
  for (const auto& [path, added] : added_) tree.insert_or_assign(path, added.file);
  return tree;
}

Result<std::set<std::string>> HfChanges::ask_which_are_large(
    const std::map<std::string, Added>& files) const {
  std::set<std::string> large;
  for (auto it = files.begin(); it != files.end();) {
    json wanted = json::array();
    for (; it != files.end() && wanted.size() < kMostQuestions; ++it) {
      const auto& [path, added] = *it;
      if (added.is_large) continue;
      const ByteView bytes = added.content.bytes;
      wanted.push_back({{"path", path},
                        {"size", bytes.size()},
                        {"sample", base64(bytes.first(std::min(kSampleBytes, bytes.size())))}});
    }
    if (wanted.empty()) continue;
    const auto body = std::make_shared<const std::string>(json{{"files", wanted}}.dump());
    HttpCall call = repository_->call(
        "POST", repository_->api("/preupload/" + percent_encode(repository_->location().revision)));
    call.request.body = as_bytes(*body);
    call.request.body_owner = body;
    call.request.headers.set("Content-Type", "application/json");
    HR_TRY(const HttpResponse answer, repository_->fetcher()->send(std::move(call)));
    if (!answer.is_success())
      return repository_->error("write to", repository_->location().name(), answer);
    const json root = json::parse(answer.body, nullptr, false);
    for (const json& row : field_of(root, "files"))
      if (text_of(row, "uploadMode") == "lfs") large.insert(text_of(row, "path"));
  }
  return large;
}

std::string HfChanges::commit_lines(const std::map<std::string, Added>& files,
                                    const std::set<std::string>& removed) const {
  std::string lines;
  const auto line = [&](const char* key, json value) {
    lines += json{{"key", key}, {"value", std::move(value)}}.dump() + "\n";
  };
  line("header", {{"summary", "Write " + std::to_string(files.size()) + " files with headrace"},
                  {"description", ""},
                  {"parentCommit", repository_->commit()}});
  for (const std::string& path : removed) line("deletedFile", {{"path", path}});
  for (const auto& [path, added] : files) {
    if (added.is_large)
      line("lfsFile", {{"path", path},
                       {"algo", "sha256"},
                       {"oid", added.file.sha256},
                       {"size", added.file.bytes}});
    else
      line("file",
           {{"path", path}, {"encoding", "base64"}, {"content", base64(added.content.bytes)}});
  }
  return lines;
}

Status HfChanges::commit() {
  std::map<std::string, Added> files;
  std::set<std::string> removed;
  {
    const std::scoped_lock lock(mutex_);
    files = added_;
    removed = removed_;
  }
  if (files.empty() && removed.empty()) return {};
  HR_TRY(const auto large, ask_which_are_large(files));
  std::vector<HfContent> contents;
  for (const std::string& path : large) {
    const auto file = files.find(path);
    if (file == files.end() || file->second.file.bytes == 0) continue;
    contents.push_back(file->second.content);
    file->second.is_large = true;
  }
  HR_CHECK(upload_large(*repository_, contents));

  HR_TRY(HfTree after, tree());

  const auto body = std::make_shared<const std::string>(commit_lines(files, removed));
  HttpCall call = repository_->call(
      "POST", repository_->api("/commit/" + percent_encode(repository_->location().revision)));
  call.request.body = as_bytes(*body);
  call.request.body_owner = body;
  call.request.headers.set("Content-Type", "application/x-ndjson");
  call.retry = false;  // it may have been made although its answer was lost
  HR_TRY(const HttpResponse answer, repository_->fetcher()->send(std::move(call)));
  const std::string& name = repository_->location().name();
  if (answer.status == 412) {
    repository_->cache().forget_ref(repository_->location().revision);
    return Error{.code = Code::kChanged,
                 .message = "somebody else committed to the repository meanwhile",
                 .origin = {.shard = name},
                 .hint = "Give the same command again; what was uploaded is not sent twice."};
  }
  if (!answer.is_success()) return repository_->error("commit to", name, answer);
  const json root = json::parse(answer.body, nullptr, false);
  const std::scoped_lock lock(mutex_);
  added_.clear();
  removed_.clear();
  repository_->committed(text_of(root, "commitOid"), std::move(after));
  return {};
}

}  // namespace headrace
