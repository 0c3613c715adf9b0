#include "io/ais/ais_service.h"

#include <charconv>

#include "base/try.h"
#include "io/ais/ais_error.h"
#include "io/json_fields.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr int kPageEntries = 10'000;
constexpr uint64_t kPartBytes = uint64_t{16} << 20;

Error not_a_list(const std::string& name) {
  return {.code = Code::kCorrupt,
          .message = "the answer is not the listing of an AIStore bucket",
          .origin = {.shard = name}};
}

/// An archive that was appended to has no checksum, and nothing that tells its bytes.
std::string version_of(std::string_view checksum, std::string_view version) {
  if (checksum.empty()) return "";
  return std::string(checksum) + "-" + std::string(version);
}

/// Adds an entry of a page. Sizes are texts, and missing for empty objects.
bool add_entry(const json& entry, std::vector<ListedObject>* out) {
  constexpr uint64_t kIsDirectory = 256;
  if ((number_of(entry, "flags").value_or(0) & kIsDirectory) != 0) return true;
  ListedObject object{.path = text_of(entry, "name")};
  const std::string text = field_of(entry, "size").is_null() ? "0" : text_of(entry, "size");
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), object.bytes);
  if (object.path.empty() || problem != std::errc() || end != text.data() + text.size())
    return false;
  object.version = version_of(text_of(entry, "checksum"), text_of(entry, "version"));
  out->push_back(std::move(object));
  return true;
}

/// With a target that does not answer, the gateway fails the whole list by a 400.
bool is_passing(const HttpResponse& answer) {
  return answer.status == 400 && answer.body.find("failed to call") != std::string::npos;
}

void set_body(HttpRequest& request, const std::shared_ptr<const std::string>& body) {
  request.body = as_bytes(*body);
  request.body_owner = body;
}

void set_json(HttpRequest& request, const json& value) {
  set_body(request, std::make_shared<const std::string>(value.dump()));
  request.headers.set("Content-Type", "application/json");
}

/// The gateway redirects a body to its target: it is sent there alone.
void set_large_body(HttpRequest& request, const std::shared_ptr<const std::string>& body) {
  set_body(request, body);
  request.headers.set("Expect", "100-continue");
}

std::string upload_query(const Upload& upload) { return "uploadId=" + percent_encode(upload.id); }

}  // namespace

AisService::AisService(std::shared_ptr<AisCluster> cluster, std::string bucket, std::string name)
    : cluster_(std::move(cluster)), bucket_(std::move(bucket)), name_(std::move(name)) {}

HttpCall AisService::call(const char* method, const std::string& key,
                          const std::string& query) const {
  return cluster_->call(method, AisName{bucket_, key}.path(), query, name_ + "/" + key);
}

HttpCall AisService::object(const char* method, const std::string& key) const {
  if (std::string_view(method) != "GET") return call(method, key);
  return cluster_->read({bucket_, key}, name_ + "/" + key);
}

HttpCall AisService::member(const std::string& key, const std::string& member) const {
  return call("GET", key, "archpath=" + percent_encode(member));
}

std::string AisService::version(const HttpResponse& answer) const {
  return version_of(answer.headers.get("Ais-Checksum-Value"), answer.headers.get("Ais-Version"));
}

void AisService::found(const std::string& key, const Url& url) const {
  cluster_->found({bucket_, key}, url);
}

HttpCall AisService::put(const std::string& key, const std::shared_ptr<const std::string>& body,
                         bool) const {
  HttpCall put = call("PUT", key);
  set_large_body(put.request, body);
  return put;
}

HttpCall AisService::list(const ListRequest& request) const {
  HttpCall call = cluster_->call("GET", "/v1/buckets/" + percent_encode(bucket_), "", name_);
  set_json(call.request, {{"action", "list"},
                          {"value",
                           {{"prefix", request.prefix},
                            {"props", "name,size,checksum,version"},
                            {"pagesize", kPageEntries},
                            {"flags", "0"},
                            {"uuid", ""},
                            {"continuation_token", request.token},
                            {"start_after", ""}}}});
  call.again = [](Url&, const HttpResponse* answer, bool usual) {
    return usual || (answer != nullptr && is_passing(*answer));
  };
  return call;
}

Result<ListPage> AisService::parse_list(const HttpResponse& answer) const {
  const json root = json::parse(answer.body, nullptr, false);
  if (!root.is_object()) return not_a_list(name_);
  ListPage page;
  page.next = text_of(root, "continuation_token");
  for (const json& entry : field_of(root, "entries"))
    if (!add_entry(entry, &page.entries)) return not_a_list(name_);
  return page;
}

UploadLimits AisService::limits() const { return {.part_bytes = kPartBytes}; }

HttpCall AisService::begin_upload(const std::string& key) const {
  HttpCall begin = call("POST", key);
  set_json(begin.request, {{"action", "mpt-upload"}});
  return begin;
}

Result<std::string> AisService::parse_upload(const HttpResponse& answer) const {
  const size_t end = answer.body.find_last_not_of(" \r\n\"");
  const size_t begin = answer.body.find_first_not_of(" \r\n\"");
  if (begin == std::string::npos)
    return Error{.message = "AIStore names no upload", .origin = {.shard = name_}};
  return answer.body.substr(begin, end + 1 - begin);
}

HttpCall AisService::put_part(const Upload& upload, const std::string& name,
                              const std::shared_ptr<const std::string>& body) const {
  HttpCall put = call("PUT", upload.key, upload_query(upload) + "&partNumber=" + name);
  set_large_body(put.request, body);
  return put;
}

HttpCall AisService::complete_upload(const Upload& upload, bool) const {
  json parts = json::array();
  for (size_t i = 0; i < upload.parts.size(); ++i)
    parts.push_back({{"part-number", i + 1}, {"etag", ""}});
  HttpCall complete = call("POST", upload.key, upload_query(upload));
  set_json(complete.request, {{"action", "mpt-complete"}, {"value", std::move(parts)}});
  complete.retry = false;
  return complete;
}

std::vector<HttpCall> AisService::remove_parts(const Upload& upload, UploadEnd end) const {
  if (end != UploadEnd::kGivenUp) return {};
  HttpCall abort = call("DELETE", upload.key, upload_query(upload));
  set_json(abort.request, {{"action", "mpt-abort"}});
  return {std::move(abort)};
}

Error AisService::error(std::string_view action, const std::string& object,
                        const HttpResponse& answer) const {
  return ais_error(action, object, answer);
}

}  // namespace headrace
