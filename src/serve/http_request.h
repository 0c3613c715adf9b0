// The head of an HTTP/1.1 request, strictly read: what RFC 9112 leaves to the server's mercy (bare
// line feeds, spaces before colons, folded lines, two Hosts, a body after GET) is refused, because
// two programs that read it differently are a hole. Pure: bytes in, values out.
// Thread-safety: plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

struct ServedRequest {
  std::string method;
  std::string path;  ///< decoded, without the leading '/'; never leads out of the root
  std::string host;
  bool keep_alive = true;
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case

  /// The value of a header that comes once; nullptr if it is not there.
  const std::string* find(std::string_view name) const;
};

/// The status that refuses a request: 400, 405, 413, 414, 431, 501, 505.
struct Refusal {
  int status = 400;
};

inline constexpr size_t kLargestHead = 16384;

/// Bytes up to and with the empty line; 0 if it has not come yet.
size_t head_size(std::string_view received);

/// `head` is what head_size() measured.
std::optional<Refusal> parse_request(std::string_view head, ServedRequest& into);

/// Decodes the path of a target. Nothing if it has an escape that is none, a NUL or other control
/// character, an empty part, or one that begins with a dot (".." among them).
std::optional<std::string> safe_target(std::string_view target);

}  // namespace headrace
