// Errors as S3 and its relatives word them: XML with a code and a message, and much else that
// echoes the request, signature included. Only code and message are shown.
#pragma once

#include <string>
#include <string_view>

#include "io/http/http_message.h"

namespace headrace {

struct ServiceFault {
  std::string code;  ///< "NoSuchKey"; empty if the body does not say
  std::string message;
  std::string region;  ///< the right one, where the request's was wrong
};
ServiceFault parse_fault(const std::string& body);
/// The status that a fault has when it does not come with 200 (CompleteMultipartUpload answers
/// before it is through).
int status_of_fault(const std::string& code);

/// As http_error, with a hint for the faults that have a usual cause.
Error service_error(std::string_view action, const std::string& object, const HttpResponse& answer);

}  // namespace headrace
