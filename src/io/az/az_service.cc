#include "io/az/az_service.h"

#include <charconv>
#include <sstream>

#include "base/base64.h"
#include "base/try.h"
#include "io/bucket/xml.h"
#include "io/s3/service_error.h"
#include "io/timestamp.h"
#include "io/unique_id.h"

namespace headrace {
namespace {

constexpr const char* kVersion = "2021-08-06";

// All of one length, as Azure asks.
std::string block_id(const Upload& upload, size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 6 - std::min<size_t>(digits.size(), 6), '0');
  return base64(upload.id + "-" + digits);
}

void give_body(HttpCall* call, std::shared_ptr<const std::string> body, const char* type) {
  call->request.body = as_bytes(*body);
  call->request.body_owner = std::move(body);
  call->request.headers.set("Content-Type", type);
}

}  // namespace

AzService::AzService(std::string container, Url endpoint, AzureAccess access)
    : endpoint_(std::move(endpoint)),
      container_(std::move(container)),
      access_(std::move(access)),
      name_("az://" + container_) {}

HttpCall AzService::call(const char* method, const std::string& key, QueryParameters query) const {
  HttpCall call;
  call.object = name_ + "/" + key;
  call.signer = access_.signer;
  call.request.method = method;
  call.request.url = endpoint_;
  std::string& path = call.request.url.path;
  if (path.ends_with('/')) path.pop_back();
  path += "/" + percent_encode(container_);
  if (!key.empty()) path += "/" + percent_encode(key, "/");
  call.request.url.query = encode_query(query);
  if (!access_.sas.empty())
    call.request.url.query += (call.request.url.query.empty() ? "" : "&") + access_.sas;
  call.request.headers.set("x-ms-version", kVersion);
  return call;
}

HttpCall AzService::object(const char* method, const std::string& key) const {
  return call(method, key, {});
}

HttpCall AzService::put(const std::string& key, const std::shared_ptr<const std::string>& body,
                        bool if_absent) const {
  HttpCall put = call("PUT", key, {});
  give_body(&put, body, "application/octet-stream");
  put.request.headers.set("x-ms-blob-type", "BlockBlob");
  if (if_absent) put.request.headers.set("If-None-Match", "*");
  return put;
}

HttpCall AzService::list(const ListRequest& request) const {
  QueryParameters query{{"restype", "container"},
                        {"comp", "list"},
                        {"prefix", request.prefix},
                        {"maxresults", "5000"}};
  if (request.by_folder) query.emplace_back("delimiter", "/");
  if (!request.token.empty()) query.emplace_back("marker", request.token);
  HttpCall list = call("GET", "", query);
  list.object = name_ + "/" + request.prefix;
  return list;
}

Result<ListPage> AzService::parse_list(const HttpResponse& answer) const {
  pugi::xml_document document;
  HR_TRY(const pugi::xml_node root, parse_xml(&document, answer.body, "EnumerationResults", name_));
  ListPage page;
  const auto name_of = [](const pugi::xml_node& node) {
    const pugi::xml_node name = node.child("Name");
    const std::string text = name.child_value();
    return name.attribute("Encoded").as_bool() ? percent_decode(text) : text;
  };
  for (const pugi::xml_node blob : root.child("Blobs").children("Blob")) {
    const std::string size = blob.child("Properties").child_value("Content-Length");
    uint64_t bytes = 0;
    const auto [end, problem] = std::from_chars(size.data(), size.data() + size.size(), bytes);
    if (problem != std::errc() || end != size.data() + size.size())
      return Error{.code = Code::kFailure,
                   .message = "the listing gives '" + size + "' as the size of a blob",
                   .origin = {.shard = name_}};
    const std::string modified = blob.child("Properties").child_value("Last-Modified");
    std::string etag = blob.child("Properties").child_value("Etag");
    std::erase(etag, '"');  // here they are without, but for old servers
    page.entries.push_back({name_of(blob), bytes, parse_http_time(modified), std::move(etag)});
  }
  for (const pugi::xml_node prefix : root.child("Blobs").children("BlobPrefix"))
    page.prefixes.push_back(name_of(prefix));
  page.next = root.child_value("NextMarker");
  return page;
}

HttpCall AzService::begin_upload(const std::string&) const {
  HttpCall nothing;
  nothing.request.method.clear();
  return nothing;
}

Result<std::string> AzService::parse_upload(const HttpResponse&) const { return unique_id(); }

HttpCall AzService::put_part(const Upload& upload, size_t number,
                             const std::shared_ptr<const std::string>& body) const {
  HttpCall put =
      call("PUT", upload.key, {{"comp", "block"}, {"blockid", block_id(upload, number)}});
  give_body(&put, body, "application/octet-stream");
  return put;
}

HttpCall AzService::complete_upload(const Upload& upload, bool if_absent) const {
  pugi::xml_document document;
  pugi::xml_node list = document.append_child("BlockList");
  for (size_t i = 0; i < upload.parts.size(); ++i)
    list.append_child("Latest").text() = block_id(upload, i).c_str();
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  HttpCall complete = call("PUT", upload.key, {{"comp", "blocklist"}});
  give_body(&complete, std::make_shared<const std::string>(text.str()), "application/xml");
  if (if_absent) complete.request.headers.set("If-None-Match", "*");
  return complete;
}

HttpResponse AzService::truth(HttpResponse answer) const {
  if (answer.status == 409 && answer.headers.get("x-ms-error-code") == "BlobAlreadyExists")
    answer.status = 412;
  return answer;
}

Error AzService::error(std::string_view action, const std::string& object,
                       const HttpResponse& answer) const {
  return service_error(action, object, answer);
}

}  // namespace headrace
