#include "serve/file_answer.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace headrace {
namespace {

// Whether a list of tags, as of If-Match, names this one. Weak tags never match (strong
// comparison).
bool names(std::string_view list, std::string_view etag) {
  if (list == "*") return true;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    if (one == etag) return true;
  }
  return false;
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

struct Part {
  uint64_t first = 0;
  uint64_t last = 0;  // may lie behind the end
};

// Nothing: no range, or one that is to be ignored (other units, several, not well written).
std::optional<Part> parse_range(std::string_view text, uint64_t bytes) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, dash);
  const std::string_view after = text.substr(dash + 1);
  if (before.empty()) {
    const auto suffix = number(after);
    if (!suffix) return std::nullopt;
    if (*suffix == 0) return Part{bytes, bytes};  // nothing of it: cannot be satisfied
    return Part{bytes - std::min(bytes, *suffix), bytes - std::min<uint64_t>(bytes, 1)};
  }
  const auto first = number(before);
  if (!first) return std::nullopt;
  if (after.empty()) return Part{*first, std::max(*first, bytes - std::min<uint64_t>(bytes, 1))};
  const auto last = number(after);
  if (!last || *last < *first) return std::nullopt;
  return Part{*first, *last};
}

}  // namespace

FileAnswer answer_file(const ServedRequest& request, uint64_t bytes, const std::string& etag) {
  FileAnswer answer;
  answer.headers = "ETag: " + etag + "\r\nAccept-Ranges: bytes\r\n";
  if (const std::string* match = request.find("if-match"); match && !names(*match, etag)) {
    answer.status = 412;
    return answer;
  }
  if (const std::string* other = request.find("if-none-match"); other && names(*other, etag)) {
    answer.status = 304;
    return answer;
  }
  answer.size = bytes;
  const std::string* range = request.find("range");
  const std::string* same = request.find("if-range");
  const bool wanted = range != nullptr && request.method == "GET" && (!same || *same == etag);
  const auto part = wanted ? parse_range(*range, bytes) : std::nullopt;
  if (!part) return answer;
  const std::string total = "/" + std::to_string(bytes) + "\r\n";
  if (part->first >= bytes) {
    answer.status = 416;
    answer.size = 0;
    answer.headers += "Content-Range: bytes *" + total;
    return answer;
  }
  const uint64_t last = std::min(part->last, bytes - 1);
  answer.status = 206;
  answer.begin = part->first;
  answer.size = last - part->first + 1;
  answer.headers +=
      "Content-Range: bytes " + std::to_string(part->first) + "-" + std::to_string(last) + total;
  return answer;
}

std::string status_line(int status) {
  const auto reason = [&] {
    switch (status) {
      case 200:
        return "OK";
      case 206:
        return "Partial Content";
      case 304:
        return "Not Modified";
      case 400:
        return "Bad Request";
      case 401:
        return "Unauthorized";
      case 403:
        return "Forbidden";
      case 404:
        return "Not Found";
      case 405:
        return "Method Not Allowed";
      case 408:
        return "Request Timeout";
      case 412:
        return "Precondition Failed";
      case 413:
        return "Content Too Large";
      case 414:
        return "URI Too Long";
      case 416:
        return "Range Not Satisfiable";
      case 421:
        return "Misdirected Request";
      case 431:
        return "Request Header Fields Too Large";
      case 501:
        return "Not Implemented";
      case 503:
        return "Service Unavailable";
      case 505:
        return "HTTP Version Not Supported";
      default:
        return "Error";
    }
  };
  return "HTTP/1.1 " + std::to_string(status) + " " + reason() + "\r\n";
}

}  // namespace headrace
