#include "io/gs/gs_service.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "io/s3/service_error.h"
#include "io/timestamp.h"
#include "io/unique_id.h"

namespace headrace {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* name) {
  if (!object.is_object()) return "";
  const json value = object.value(name, json());
  return value.is_string() ? value.get<std::string>() : "";
}

std::string part_name(const Upload& upload, size_t number) {
  return upload.key + ".headrace-part-" + upload.id + "-" + std::to_string(number);
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

HttpCall GsService::list(const ListRequest& request) const {
  QueryParameters query{{"prefix", request.prefix},
                        {"maxResults", "1000"},
                        {"fields", "items(name,size,updated,generation),prefixes,nextPageToken"}};
  if (request.by_folder) query.emplace_back("delimiter", "/");
  if (!request.token.empty()) query.emplace_back("pageToken", request.token);
  return call("GET", "/storage/v1/b/" + percent_encode(bucket_) + "/o", query, request.prefix);
}

Result<ListPage> GsService::parse_list(const HttpResponse& answer) const {
  const auto wrong = [&] {
    return Error{.code = Code::kFailure,
                 .message = "the server's answer is not a listing",
                 .origin = {.shard = name_}};
  };
  const json body = json::parse(answer.body, nullptr, false);
  if (!body.is_object()) return wrong();
  ListPage page;
  for (const json& item : body.value("items", json::array())) {
    const std::string size = text_of(item, "size");
    uint64_t bytes = 0;
    const auto [end, problem] = std::from_chars(size.data(), size.data() + size.size(), bytes);
    if (problem != std::errc() || end != size.data() + size.size()) return wrong();
    page.entries.push_back({text_of(item, "name"), bytes, parse_iso_time(text_of(item, "updated")),
                            text_of(item, "generation")});
  }
  for (const json& prefix : body.value("prefixes", json::array()))
    if (prefix.is_string()) page.prefixes.push_back(prefix);
  page.next = text_of(body, "nextPageToken");
  return page;
}

HttpCall GsService::begin_upload(const std::string&) const {
  HttpCall nothing;
  nothing.request.method.clear();
  return nothing;
}

Result<std::string> GsService::parse_upload(const HttpResponse&) const { return unique_id(); }

HttpCall GsService::put_part(const Upload& upload, size_t number,
                             const std::shared_ptr<const std::string>& body) const {
  return put(part_name(upload, number), body, false);
}

std::string GsService::part_mark(const HttpResponse&, size_t) const { return ""; }

HttpCall GsService::complete_upload(const Upload& upload, bool if_absent) const {
  json sources = json::array();
  for (size_t i = 0; i < upload.parts.size(); ++i)
    sources.push_back({{"name", part_name(upload, i)}});
  const json body{{"kind", "storage#composeRequest"},
                  {"sourceObjects", std::move(sources)},
                  {"destination", {{"contentType", "application/octet-stream"}}}};
  QueryParameters query;
  if (if_absent) query.emplace_back("ifGenerationMatch", "0");
  HttpCall compose = call(
      "POST",
      "/storage/v1/b/" + percent_encode(bucket_) + "/o/" + percent_encode(upload.key) + "/compose",
      query, upload.key);
  give_body(&compose, std::make_shared<const std::string>(body.dump()), "application/json");
  return compose;
}

std::vector<HttpCall> GsService::remove_parts(const Upload& upload, bool) const {
  std::vector<HttpCall> calls;
  for (size_t i = 0; i < upload.parts.size(); ++i)
    calls.push_back(object("DELETE", part_name(upload, i)));
  return calls;
}

// The XML interface words its errors as S3 does; the JSON one has {"error": {"message": …}}.
Error GsService::error(std::string_view action, const std::string& object,
                       const HttpResponse& answer) const {
  const json body = json::parse(answer.body, nullptr, false);
  if (!body.is_object()) return service_error(action, object, answer);
  HttpResponse shown;
  shown.status = answer.status;
  shown.body = text_of(body.value("error", json()), "message");
  return http_error(action, object, shown);
}

}  // namespace headrace
