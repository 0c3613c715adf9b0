#include "serve/http_request.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::string_view kEmptyLine = "\r\n\r\n";
constexpr size_t kLongestTarget = 8192;

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<Refusal> parse_line(std::string_view line, ServedRequest& into) {
  const size_t first = line.find(' ');
  const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return Refusal{400};
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (!is_token(method) || target.empty()) return Refusal{400};
  if (version != "HTTP/1.1") return Refusal{version.starts_with("HTTP/") ? 505 : 400};
  if (method != "GET" && method != "HEAD") return Refusal{405};
  if (target.size() > kLongestTarget) return Refusal{414};
  const auto path = safe_target(target);
  if (!path) return Refusal{400};
  into.method = method;
  into.path = *path;
  return std::nullopt;
}

std::optional<Refusal> parse_header(std::string_view line, ServedRequest& into) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return Refusal{400};
  const std::string name = lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (std::ranges::any_of(value, [](char c) { return c != '\t' && is_control(c); }))
    return Refusal{400};
  // Those that steer what is sent must not come twice.
  for (const std::string_view once : {"host", "range", "if-range", "authorization", "if-match",
                                      "if-none-match", "content-length", "transfer-encoding"})
    if (name == once && into.find(once) != nullptr) return Refusal{400};
  into.headers.emplace_back(name, value);
  return std::nullopt;
}

// What the headers together must be.
std::optional<Refusal> check_headers(ServedRequest& request) {
  const std::string* host = request.find("host");
  if (host == nullptr || host->empty()) return Refusal{400};
  request.host = lower(*host);
  if (request.find("transfer-encoding") != nullptr) return Refusal{501};
  if (const std::string* length = request.find("content-length"); length && *length != "0")
    return Refusal{413};
  if (const std::string* connection = request.find("connection"))
    request.keep_alive = lower(*connection).find("close") == std::string::npos;
  return std::nullopt;
}

}  // namespace

const std::string* ServedRequest::find(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? nullptr : &found->second;
}

size_t head_size(std::string_view received) {
  const size_t end = received.find(kEmptyLine);
  return end == std::string_view::npos ? 0 : end + kEmptyLine.size();
}

std::optional<Refusal> parse_request(std::string_view head, ServedRequest& into) {
  if (head.size() > kLargestHead) return Refusal{431};
  head.remove_suffix(2);  // of the empty line; each line still has its end
  for (bool first = true; !head.empty(); first = false) {
    const size_t end = head.find("\r\n");
    if (end == std::string_view::npos) return Refusal{400};
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.find('\n') != std::string_view::npos || line.find('\r') != std::string_view::npos)
      return Refusal{400};
    if (const auto refusal = first ? parse_line(line, into) : parse_header(line, into))
      return refusal;
  }
  return check_headers(into);
}

std::optional<std::string> safe_target(std::string_view target) {
  target = target.substr(0, target.find('?'));
  if (!target.starts_with('/')) return std::nullopt;
  std::string path;
  for (size_t i = 1; i < target.size(); ++i) {
    char c = target[i];
    if (c == '%') {
      const int high = i + 2 < target.size() ? hex_digit(target[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(target[i + 2]) : -1;
      if (low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
      if (c == '/') return std::nullopt;  // a name cannot have one
    }
    if (is_control(c)) return std::nullopt;
    path += c;
  }
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end == begin || path[begin] == '.') return std::nullopt;
    begin = end + 1;
  }
  return path;
}

}  // namespace headrace
