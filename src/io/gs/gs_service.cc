#include "io/gs/gs_service.h"

#include <algorithm>

#include "base/base64.h"
#include "base/digest.h"
#include "base/try.h"
#include "io/bucket/part_object.h"
#include "io/bucket/whole_number.h"
#include "io/json_fields.h"
#include "io/s3/service_error.h"
#include "io/timestamp.h"
#include "io/unique_id.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr size_t kMostSources = 32;  // of one composition
constexpr size_t kDigestDigits = 32;

// Equal for equal sources alone, whoever composes them.
std::string joined_name(const std::string& key, std::span<const std::string> sources) {
  Sha256Stream digest;
  for (const std::string& source : sources) digest.update(as_bytes(source + "\n"));
  return part_object(key, digest.hex().substr(0, kDigestDigits));
}

Error not_a_list(const std::string& name) {
  return {.code = Code::kFailure,
          .message = "the server's answer is not a listing",
          .origin = {.shard = name}};
}

Result<json> listing_of(const HttpResponse& answer, const std::string& name) {
  json body = json::parse(answer.body, nullptr, false);
  if (body.is_object()) return body;
  return not_a_list(name);
}

void give_body(HttpCall* call, std::shared_ptr<const std::string> body, const char* type) {
  call->request.body = as_bytes(*body);
  call->request.body_owner = std::move(body);
  call->request.headers.set("Content-Type", type);
}

}  // namespace

GsService::GsService(std::string bucket, Url endpoint, bool is_emulator,
                     std::shared_ptr<const BearerSigner> signer)
    : bucket_(std::move(bucket)),
      endpoint_(std::move(endpoint)),
      is_emulator_(is_emulator),
      signer_(std::move(signer)),
      name_("gs://" + bucket_) {}

Status GsService::ready() const { return signer_ ? signer_->ready() : Status(); }

HttpCall GsService::call(const char* method, std::string path, const QueryParameters& query,
                         const std::string& key) const {
  HttpCall call;
  call.object = name_ + "/" + key;
  call.signer = signer_;
  call.request.method = method;
  call.request.url = endpoint_;
  call.request.url.path = std::move(path);
  call.request.url.query = encode_query(query);
  return call;
}

HttpCall GsService::object(const char* method, const std::string& key) const {
  return call(method, "/" + percent_encode(bucket_) + "/" + percent_encode(key, "/"), {}, key);
}

void GsService::pin(HttpRequest& request, const std::string& version) const {
  request.headers.set("x-goog-if-generation-match", version);
}

std::string GsService::version(const HttpResponse& answer) const {
  return std::string(answer.headers.get("x-goog-generation"));
}

HttpCall GsService::put(const std::string& key, const std::shared_ptr<const std::string>& body,
                        bool if_absent) const {
  QueryParameters query{{"uploadType", "media"}, {"name", key}};
  if (if_absent) query.emplace_back("ifGenerationMatch", "0");
  HttpCall put = call("POST", "/upload/storage/v1/b/" + percent_encode(bucket_) + "/o", query, key);
  give_body(&put, body, "application/octet-stream");
  return put;
}

HttpCall GsService::list_call(const std::string& prefix, const QueryParameters& more,
                              const std::string& token) const {
  QueryParameters query{{"prefix", prefix}, {"maxResults", "1000"}};
  query.insert(query.end(), more.begin(), more.end());
  if (!token.empty()) query.emplace_back("pageToken", token);
  return call("GET", "/storage/v1/b/" + percent_encode(bucket_) + "/o", query, prefix);
}

HttpCall GsService::list(const ListRequest& request) const {
  QueryParameters query{{"fields", "items(name,size,updated,generation),prefixes,nextPageToken"}};
  if (request.by_folder) query.emplace_back("delimiter", "/");
  return list_call(request.prefix, query, request.token);
}

Result<ListPage> GsService::parse_list(const HttpResponse& answer) const {
  HR_TRY(const json body, listing_of(answer, name_));
  ListPage page;
  for (const json& item : field_of(body, "items")) {
    const auto bytes = whole_number(text_of(item, "size"));
    if (!bytes) return not_a_list(name_);
    page.entries.push_back({text_of(item, "name"), *bytes, parse_iso_time(text_of(item, "updated")),
                            text_of(item, "generation")});
  }
  for (const json& prefix : field_of(body, "prefixes"))
    if (prefix.is_string()) page.prefixes.push_back(prefix);
  page.next = text_of(body, "nextPageToken");
  return page;
}

Result<std::string> GsService::parse_upload(const HttpResponse&) const { return unique_id(); }

std::string GsService::part_name(const Upload& upload, size_t number, ByteView) const {
  return part_object(upload.key, upload.id + "-" + std::to_string(number));
}

HttpCall GsService::put_part(const Upload&, const std::string& name,
                             const std::shared_ptr<const std::string>& body) const {
  return put(name, body, false);
}

HttpCall GsService::list_unfinished(const std::string& key, const Unfinished& found) const {
  return list_call(part_object_prefix(key), {{"fields", "items(name,size,md5Hash),nextPageToken"}},
                   found.next);
}

// What was composed has no MD5 at Google: it is composed again.
Status GsService::parse_unfinished(const std::string& key, const HttpResponse& answer,
                                   Unfinished* found) const {
  HR_TRY(const json body, listing_of(answer, name_));
  for (const json& item : field_of(body, "items")) {
    const std::string name = text_of(item, "name");
    const auto bytes = whole_number(text_of(item, "size"));
    const bool ours = name.starts_with(part_object_prefix(key)) && is_part_object(name);
    if (ours && bytes) found->parts[text_of(item, "md5Hash")] = {*bytes, name};
  }
  found->next = text_of(body, "nextPageToken");
  found->is_whole = found->next.empty();
  return {};
}

std::string GsService::proof(const std::string&, ByteView body) const { return base64(md5(body)); }

HttpCall GsService::compose(std::span<const std::string> sources, const std::string& key,
                            bool if_absent) const {
  json names = json::array();
  for (const std::string& source : sources) names.push_back({{"name", source}});
  const json body{{"kind", "storage#composeRequest"},
                  {"sourceObjects", std::move(names)},
                  {"destination", {{"contentType", "application/octet-stream"}}}};
  QueryParameters query;
  if (if_absent) query.emplace_back("ifGenerationMatch", "0");
  HttpCall compose = call(
      "POST", "/storage/v1/b/" + percent_encode(bucket_) + "/o/" + percent_encode(key) + "/compose",
      query, key);
  give_body(&compose, std::make_shared<const std::string>(body.dump()), "application/json");
  return compose;
}

std::vector<HttpCall> GsService::join_parts(Upload* upload) const {
  if (upload->parts.size() <= kMostSources) return {};
  const std::vector<std::string> parts = std::exchange(upload->parts, {});
  std::vector<HttpCall> calls;
  for (size_t i = 0; i < parts.size(); i += kMostSources) {
    const auto sources = std::span(parts).subspan(i, std::min(kMostSources, parts.size() - i));
    upload->parts.push_back(joined_name(upload->key, sources));
    calls.push_back(compose(sources, upload->parts.back(), false));
  }
  upload->spent.insert(upload->spent.end(), parts.begin(), parts.end());
  return calls;
}

HttpCall GsService::complete_upload(const Upload& upload, bool if_absent) const {
  return compose(upload.parts, upload.key, if_absent);
}

bool GsService::is_lost(const HttpResponse& answer) const {
  return answer.status == 404 && answer.url.path.ends_with("/compose");
}

std::vector<HttpCall> GsService::remove_parts(const Upload& upload, UploadEnd) const {
  std::vector<HttpCall> calls;
  for (const auto* names : {&upload.parts, &upload.spent})
    for (const std::string& name : *names) calls.push_back(object("DELETE", name));
  return calls;
}

// The XML interface words its errors as S3 does; the JSON one has {"error": {"message": …}}.
Error GsService::error(std::string_view action, const std::string& object,
                       const HttpResponse& answer) const {
  const json body = json::parse(answer.body, nullptr, false);
  if (!body.is_object()) return service_error(action, object, answer);
  HttpResponse shown;
  shown.status = answer.status;
  shown.body = text_of(field_of(body, "error"), "message");
  return http_error(action, object, shown);
}

}  // namespace headrace
