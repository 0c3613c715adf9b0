// What a request for a file is answered with: status, headers, and which bytes. Pure.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "serve/http_request.h"

namespace headrace {

struct FileAnswer {
  int status = 200;
  std::string headers;  ///< lines of its own, each with its end
  uint64_t begin = 0;   ///< of the body in the file
  uint64_t size = 0;    ///< of the body
};

/// For a file of `bytes` bytes whose version is `etag` (with quotes). Conditions and ranges are
/// taken as RFC 9110 says; of several ranges in one request none.
FileAnswer answer_file(const ServedRequest& request, uint64_t bytes, const std::string& etag);

/// "HTTP/1.1 404 Not Found\r\n".
std::string status_line(int status);

}  // namespace headrace
