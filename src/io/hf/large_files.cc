#include "io/hf/large_files.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "io/json_fields.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr size_t kMostAtOnce = 256;
constexpr const char* kLfsJson = "application/vnd.git-lfs+json";

Error not_understood(const HfRepository& repository) {
  return {.code = Code::kCorrupt,
          .message = "the Hub does not say in a way we understand where to upload",
          .origin = {.shard = repository.location().name()}};
}

std::shared_ptr<const std::string> shared(const json& value) {
  return std::make_shared<const std::string>(value.dump());
}

class Upload {
 public:
  Upload(const HfRepository& repository, HfContent content)
      : repository_(repository), content_(std::move(content)) {}

  /// `actions`: what the server wants done.
  Status run(const json& actions) const {
    const json& upload = field_of(actions, "upload");
    HR_TRY(const Url target, address(upload));
    const json& headers = field_of(upload, "header");
    if (!field_of(headers, "chunk_size").is_null())
      HR_CHECK(put_parts(target, headers));
    else
      HR_CHECK(put(target, content_.bytes));
    return verify(field_of(actions, "verify"));
  }

 private:
  Result<Url> address(const json& action) const {
    const std::string href = text_of(action, "href");
    if (href.empty()) return not_understood(repository_);
    return repository_.settings().mirrored(repository_.settings().endpoint, href);
  }

  Result<HttpResponse> send(HttpCall call) const {
    HR_TRY(HttpResponse answer, repository_.fetcher()->send(std::move(call)));
    if (answer.is_success()) return answer;
    return repository_.error("upload", repository_.location().name(), answer);
  }

  Result<HttpResponse> put(const Url& target, ByteView bytes) const {
    HttpCall call = repository_.call("PUT", target);
    call.request.body = bytes;
    call.request.body_owner = content_.owner;
    return send(std::move(call));
  }

  Result<HttpResponse> post(const Url& target, const json& value) const {
    HttpCall call = repository_.call("POST", target);
    const auto body = shared(value);
    call.request.body = as_bytes(*body);
    call.request.body_owner = body;
    call.request.headers.set("Accept", kLfsJson);
    call.request.headers.set("Content-Type", kLfsJson);
    return send(std::move(call));
  }

  Status put_parts(const Url& target, const json& headers) const {
    const json& size = field_of(headers, "chunk_size");
    const std::string text = size.is_string() ? size.get<std::string>() : size.dump();
    uint64_t part_bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), part_bytes);
    if (part_bytes == 0) return not_understood(repository_);
    json parts = json::array();
    for (uint64_t at = 0, number = 1; at < content_.bytes.size(); at += part_bytes, ++number) {
      const json& href = field_of(headers, std::to_string(number).c_str());
      HR_TRY(const Url part, address(json{{"href", href}}));
      const uint64_t bytes = std::min<uint64_t>(part_bytes, content_.bytes.size() - at);
      HR_TRY(const HttpResponse answer, put(part, content_.bytes.subspan(at, bytes)));
      parts.push_back({{"partNumber", number}, {"etag", answer.headers.get("ETag")}});
    }
    HR_TRY(const HttpResponse answer, post(target, {{"oid", content_.sha256}, {"parts", parts}}));
    return {};
  }

  Status verify(const json& action) const {
    if (action.is_null()) return {};
    HR_TRY(const Url target, address(action));
    HR_TRY(const HttpResponse answer,
           post(target, {{"oid", content_.sha256}, {"size", content_.bytes.size()}}));
    return {};
  }

  const HfRepository& repository_;
  const HfContent content_;
};

Result<json> ask_actions(const HfRepository& repository,
                         const std::map<std::string, HfContent>& contents) {
  json objects = json::array();
  for (const auto& [oid, content] : contents)
    objects.push_back({{"oid", oid}, {"size", content.bytes.size()}});
  const auto body = shared({{"operation", "upload"},
                            {"transfers", {"basic", "multipart"}},
                            {"objects", objects},
                            {"hash_algo", "sha256"},
                            {"ref", {{"name", repository.location().revision}}}});
  HttpCall call = repository.call(
      "POST", repository.settings().url("/" + repository.route() + ".git/info/lfs/objects/batch"));
  call.request.body = as_bytes(*body);
  call.request.body_owner = body;
  call.request.headers.set("Accept", kLfsJson);
  call.request.headers.set("Content-Type", kLfsJson);
  HR_TRY(const HttpResponse answer, repository.fetcher()->send(std::move(call)));
  if (!answer.is_success())
    return repository.error("upload to", repository.location().name(), answer);
  const json root = json::parse(answer.body, nullptr, false);
  if (!field_of(root, "objects").is_array()) return not_understood(repository);
  return field_of(root, "objects");
}

Status upload_batch(const HfRepository& repository,
                    const std::map<std::string, HfContent>& contents) {
  HR_TRY(const json objects, ask_actions(repository, contents));
  for (const json& object : objects) {
    const auto content = contents.find(text_of(object, "oid"));
    if (content == contents.end()) return not_understood(repository);
    if (const json& error = field_of(object, "error"); error.is_object())
      return Error{.message = "the Hub refuses an upload: " + text_of(error, "message"),
                   .origin = {.shard = repository.location().name()}};
    const json& actions = field_of(object, "actions");
    if (!field_of(actions, "upload").is_null())
      HR_CHECK(Upload(repository, content->second).run(actions));
  }
  return {};
}

}  // namespace

Status upload_large(const HfRepository& repository, const std::vector<HfContent>& contents) {
  std::map<std::string, HfContent> batch;  // by digest: equal files are uploaded once
  for (const HfContent& content : contents) {
    batch.emplace(content.sha256, content);
    if (batch.size() < kMostAtOnce) continue;
    HR_CHECK(upload_batch(repository, batch));
    batch.clear();
  }
  return batch.empty() ? Status() : upload_batch(repository, batch);
}

}  // namespace headrace
