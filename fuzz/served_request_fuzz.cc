// Any bytes as a request and a file's size; a path that is let through stays below its root, and a
// range inside the file.
#include <cstdlib>

#include "serve/connection.h"
#include "serve/file_answer.h"
#include "serve/http_request.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  if (size == 0) return 0;
  const std::string received(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t head = head_size(received);
  ServedRequest request;
  if (head == 0 || parse_request(received.substr(0, head), request)) return 0;
  require(("/" + request.path + "/").find("/../") == std::string::npos);
  require(request.path.find('\0') == std::string::npos && !request.path.starts_with('/'));
  is_known_host(request.host, {});
  const uint64_t bytes = data[0];
  const FileAnswer answer = answer_file(request, bytes, "\"v1\"");
  require(answer.begin <= bytes && answer.size <= bytes - answer.begin);
  return 0;
}
