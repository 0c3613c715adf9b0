#include "io/az/az_service.h"

#include <sstream>

#include "base/base64.h"
#include "base/digest.h"
#include "base/try.h"
#include "io/bucket/whole_number.h"
#include "io/bucket/xml.h"
#include "io/s3/service_error.h"
#include "io/timestamp.h"

namespace headrace {
namespace {

constexpr const char* kVersion = "2021-08-06";

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

HttpCall AzService::call(const char* method, const std::string& key,
                         const QueryParameters& query) const {
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
    const auto bytes = whole_number(size);
    if (!bytes)
      return Error{.code = Code::kFailure,
                   .message = "the listing gives '" + size + "' as the size of a blob",
                   .origin = {.shard = name_}};
    const std::string modified = blob.child("Properties").child_value("Last-Modified");
    std::string etag = blob.child("Properties").child_value("Etag");
    std::erase(etag, '"');  // here they are without, but for old servers
    page.entries.push_back({name_of(blob), *bytes, parse_http_time(modified), std::move(etag)});
  }
  for (const pugi::xml_node prefix : root.child("Blobs").children("BlobPrefix"))
    page.prefixes.push_back(name_of(prefix));
  page.next = root.child_value("NextMarker");
  return page;
}

// All of one length, as Azure asks.
std::string AzService::part_name(const Upload&, size_t number, ByteView body) const {
  std::string digits = std::to_string(number);
  digits.insert(0, 6 - std::min<size_t>(digits.size(), 6), '0');
  return base64(md5(body) + "-" + digits);
}

HttpCall AzService::put_part(const Upload& upload, const std::string& name,
                             const std::shared_ptr<const std::string>& body) const {
  HttpCall put = call("PUT", upload.key, {{"comp", "block"}, {"blockid", name}});
  give_body(&put, body, "application/octet-stream");
  return put;
}

HttpCall AzService::list_unfinished(const std::string& key, const Unfinished&) const {
  return call("GET", key, {{"comp", "blocklist"}, {"blocklisttype", "uncommitted"}});
}

Status AzService::parse_unfinished(const std::string&, const HttpResponse& answer,
                                   Unfinished* found) const {
  pugi::xml_document document;
  HR_TRY(const pugi::xml_node root, parse_xml(&document, answer.body, "BlockList", name_));
  for (const pugi::xml_node block : root.child("UncommittedBlocks").children("Block")) {
    const std::string id = block.child_value("Name");
    if (const auto bytes = whole_number(block.child_value("Size")); bytes)
      found->parts[id] = {*bytes, id};
  }
  found->is_whole = true;
  return {};
}

// Whoever commits a list ends all other blocks of the blob.
bool AzService::is_lost(const HttpResponse& answer) const {
  return answer.status == 400 && parse_fault(answer.body).code == "InvalidBlockList";
}

HttpCall AzService::complete_upload(const Upload& upload, bool if_absent) const {
  pugi::xml_document document;
  pugi::xml_node list = document.append_child("BlockList");
  for (const std::string& id : upload.parts) list.append_child("Latest").text() = id.c_str();
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
