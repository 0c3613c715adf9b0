// Requests and answers of HTTP. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/result.h"
#include "io/http/url.h"

namespace headrace {

/// Names and values in order; names compare without regard to case.
class HttpHeaders {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

  /// Replaces what has this name.
  void set(std::string_view name, std::string value);
  void add(std::string_view name, std::string value);
  void remove(std::string_view name);
  /// The first of this name; nullptr if none.
  const std::string* find(std::string_view name) const;
  /// The same, or "".
  std::string_view get(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  bool empty() const { return fields_.empty(); }

 private:
  std::vector<Field> fields_;
};

/// Bytes first..last, both included, as in a Range header.
struct ByteRange {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t size() const { return last - first + 1; }
  bool operator==(const ByteRange&) const = default;
};

/// "bytes 0-9/100" -> {0, 9} of 100 (of nothing, if the server says '*').
struct ContentRange {
  ByteRange range;
  std::optional<uint64_t> total;
  static std::optional<ContentRange> parse(std::string_view value);
};

struct HttpRequest {
  std::string method = "GET";
  Url url;
  HttpHeaders headers;
  /// Asks for these bytes alone. Their answer must be a 206 with just this Content-Range.
  std::optional<ByteRange> range;
  /// Sent with the request; the pointer keeps what `body` shows alive.
  ByteView body;
  std::shared_ptr<const void> body_owner;
  /// Where the body of a 2xx answer goes; with a range, exactly its size. Empty: it becomes
  /// HttpResponse::body. The memory lives until the call is done, also when it fails.
  MutableBytes into;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  std::string body;         ///< unless the request had a place for it
  uint64_t body_bytes = 0;  ///< received, wherever they went
  Url url;                  ///< that answered, after redirects

  bool is_success() const { return status >= 200 && status < 300; }
  /// ETag without quotes and W/.
  std::string etag() const;
  /// The total of a Content-Range, else Content-Length; nothing if neither says.
  std::optional<uint64_t> total_bytes() const;
  /// Whether the body is a range. Some servers answer 200, and say that it is one (rclone's S3).
  bool is_range() const { return status == 206 || headers.find("Content-Range") != nullptr; }
};

/// An answer that is an error, as one of ours: what was done ("read", "write", "list"), to which
/// object (its own name, not the signed URL), the status and the server's words. 404 and 410 are
/// Code::kNotFound, 401 and 403 kDenied, 412 kChanged, 507 kNoSpace.
Error http_error(std::string_view action, const std::string& object, const HttpResponse& response);

/// Body of an error for messages: its first line of text, tags taken out, at most 200 characters.
std::string server_words(std::string_view body);

}  // namespace headrace
