#include "io/s3/s3_service.h"

#include <ctime>

#include "base/digest.h"
#include "base/try.h"
#include "io/s3/answers.h"
#include "io/s3/service_error.h"
#include "io/timestamp.h"

namespace headrace {
namespace {

constexpr const char* kFirstRegion = "us-east-1";

}  // namespace

S3Service::S3Service(const std::string& scheme, std::string bucket, S3Options options,
                     std::shared_ptr<S3Signer> signer)
    : bucket_(std::move(bucket)),
      options_(std::move(options)),
      signer_(std::move(signer)),
      name_(scheme + "://" + bucket_) {}

Status S3Service::ready() const { return signer_ ? signer_->ready() : Status(); }

HttpCall S3Service::call(const char* method, std::string_view key,
                         const QueryParameters& query) const {
  HttpCall call;
  call.object = name_ + "/" + std::string(key);
  call.signer = signer_;
  call.request.method = method;
  call.request.url =
      options_.endpoint.url(bucket_, key, signer_ ? signer_->region() : kFirstRegion);
  call.request.url.query = encode_query(query);
  if (options_.requester_pays) call.request.headers.set("x-amz-request-payer", "requester");
  return call;
}

// TLS protects the bytes on their way; without it their digest does, which is signed.
void S3Service::give_body(HttpCall* call, std::shared_ptr<const std::string> body) const {
  call->request.body = as_bytes(*body);
  const bool tls = call->request.url.scheme == "https";
  if (signer_)
    call->request.headers.set(kContentDigest,
                              tls ? std::string(kUnsignedPayload) : sha256_hex(call->request.body));
  call->request.body_owner = std::move(body);
}

HttpCall S3Service::object(const char* method, const std::string& key) const {
  return call(method, key);
}

HttpCall S3Service::put(const std::string& key, const std::shared_ptr<const std::string>& body,
                        bool if_absent) const {
  HttpCall put = call("PUT", key);
  give_body(&put, body);
  if (if_absent) put.request.headers.set("If-None-Match", "*");
  return put;
}

HttpCall S3Service::list(const ListRequest& request) const {
  QueryParameters query{{"encoding-type", "url"}, {"list-type", "2"}, {"prefix", request.prefix}};
  if (request.by_folder) query.emplace_back("delimiter", "/");
  if (!request.token.empty()) query.emplace_back("continuation-token", request.token);
  return call("GET", "", query);
}

Result<ListPage> S3Service::parse_list(const HttpResponse& answer) const {
  return parse_s3_list(answer.body, name_);
}

HttpCall S3Service::begin_upload(const std::string& key) const {
  return call("POST", key, {{"uploads", ""}});
}

Result<std::string> S3Service::parse_upload(const HttpResponse& answer) const {
  return parse_s3_upload_id(answer.body, name_);
}

HttpCall S3Service::put_part(const Upload& upload, const std::string& name,
                             const std::shared_ptr<const std::string>& body) const {
  HttpCall put = call("PUT", upload.key, {{"partNumber", name}, {"uploadId", upload.id}});
  give_body(&put, body);
  return put;
}

std::string S3Service::part_mark(const HttpResponse& answer, const std::string&) const {
  return answer.etag();
}

HttpCall S3Service::list_unfinished(const std::string& key, const Unfinished& found) const {
  if (found.id.empty())
    return call("GET", "", {{"encoding-type", "url"}, {"prefix", key}, {"uploads", ""}});
  QueryParameters query{{"uploadId", found.id}};
  if (!found.next.empty()) query.emplace_back("part-number-marker", found.next);
  return call("GET", key, query);
}

Status S3Service::parse_unfinished(const std::string& key, const HttpResponse& answer,
                                   Unfinished* found) const {
  if (!found->id.empty()) return add_s3_parts(answer.body, name_, found);
  HR_TRY(found->id, latest_s3_upload(answer.body, key, name_));
  found->is_whole = found->id.empty();
  return {};
}

std::string S3Service::proof(const std::string& name, ByteView body) const {
  return s3_proof(name, hex(as_bytes(md5(body))));
}

// 404: no such upload. InvalidPart: somebody put other bytes in the place of one of ours.
bool S3Service::is_lost(const HttpResponse& answer) const {
  return answer.status == 404 ||
         (answer.status == 400 && parse_fault(answer.body).code == "InvalidPart");
}

HttpCall S3Service::complete_upload(const Upload& upload, bool if_absent) const {
  HttpCall complete = call("POST", upload.key, {{"uploadId", upload.id}});
  complete.request.headers.set("Content-Type", "application/xml");
  give_body(&complete, std::make_shared<const std::string>(s3_completion(upload.parts)));
  if (if_absent) complete.request.headers.set("If-None-Match", "*");
  return complete;
}

HttpResponse S3Service::truth(HttpResponse answer) const {
  if (!answer.is_success() || answer.body.find("<Error>") == std::string::npos) return answer;
  const ServiceFault fault = parse_fault(answer.body);
  if (fault.code.empty()) return answer;
  answer.status = status_of_fault(fault.code);
  return answer;
}

std::vector<HttpCall> S3Service::remove_parts(const Upload& upload, UploadEnd end) const {
  if (end != UploadEnd::kGivenUp) return {};
  return {call("DELETE", upload.key, {{"uploadId", upload.id}})};
}

bool S3Service::is_completed(const Upload& upload, const std::string& etag) const {
  return etag == s3_multipart_etag(upload.parts);
}

// Wrong region: the answer names the right one, in a header or in XML. Wrong clock: it is dated.
bool S3Service::recover(const HttpResponse& answer) const {
  if (!signer_ || answer.is_success()) return false;
  const ServiceFault fault = parse_fault(answer.body);
  if (fault.code == "RequestTimeTooSkewed") {
    const auto date = parse_http_time(std::string(answer.headers.get("Date")));
    if (date)
      signer_->set_skew(std::chrono::duration_cast<std::chrono::seconds>(
          *date - std::chrono::system_clock::now()));
    return date.has_value();
  }
  if (answer.status != 301 && answer.status != 307 && answer.status != 400) return false;
  std::string region(answer.headers.get("x-amz-bucket-region"));
  if (region.empty()) region = fault.region;
  if (region.empty()) return false;
  signer_->set_region(std::move(region));
  return true;
}

Error S3Service::error(std::string_view action, const std::string& object,
                       const HttpResponse& answer) const {
  return service_error(action, object, answer);
}

}  // namespace headrace
