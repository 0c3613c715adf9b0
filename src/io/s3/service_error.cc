#include "io/s3/service_error.h"

#include <pugixml.hpp>

namespace headrace {
namespace {

struct Cause {
  const char* fault;
  Code code;
  const char* hint;
};

constexpr Cause kCauses[] = {
    {"NoSuchBucket", Code::kNotFound, "There is no such bucket; check its name and the endpoint."},
    {"NoSuchKey", Code::kNotFound, "Check the name."},
    {"AccessDenied", Code::kDenied, "The credentials may not do this; check the bucket's policy."},
    {"InvalidAccessKeyId", Code::kDenied, "The server does not know the access key."},
    {"SignatureDoesNotMatch", Code::kDenied, "The secret key does not fit the access key."},
    {"ExpiredToken", Code::kDenied, "The session has ended; get new credentials."},
    {"InvalidToken", Code::kDenied, "The session token is not valid here."},
    {"RequestTimeTooSkewed", Code::kDenied, "Set this machine's clock."},
    {"AllAccessDisabled", Code::kDenied, "The bucket has been closed."},
    {"QuotaExceeded", Code::kNoSpace, "Make room, or ask for more."},
    {"XMinioStorageFull", Code::kNoSpace, "Make room on the server."},
};

}  // namespace

ServiceFault parse_fault(const std::string& body) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) return {};
  pugi::xml_node root = document.first_child();
  if (const pugi::xml_node inner = root.child("Error"); inner) root = inner;  // of STS
  return {root.child_value("Code"), root.child_value("Message"), root.child_value("Region")};
}

int status_of_fault(const std::string& code) {
  if (code == "InternalError") return 500;
  if (code == "SlowDown" || code == "ServiceUnavailable") return 503;
  if (code == "PreconditionFailed") return 412;
  if (code == "ConditionalRequestConflict") return 409;
  if (code == "NoSuchUpload") return 404;
  return 400;
}

Error service_error(std::string_view action, const std::string& object,
                    const HttpResponse& answer) {
  const ServiceFault fault = parse_fault(answer.body);
  HttpResponse shown;
  shown.status = answer.status;
  shown.body = fault.code + (fault.message.empty() ? "" : ": " + fault.message);
  Error error = http_error(action, object, shown);
  for (const Cause& cause : kCauses) {
    if (fault.code != cause.fault) continue;
    error.code = cause.code;
    error.hint = cause.hint;
  }
  return error;
}

}  // namespace headrace
