#include "serve/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/digest.h"

namespace headrace {
namespace {

constexpr size_t kSendAtOnce = size_t{4} << 20;

// Changes with every write to the file, by name or in place.
std::string etag_of(const struct stat& info) {
  const uint64_t time = static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000U +
                        static_cast<uint64_t>(info.st_mtim.tv_nsec);
  return "\"" + hex64(time) + "-" + hex64(static_cast<uint64_t>(info.st_size)) + "\"";
}

// Takes the same time wherever they differ.
bool is_same_secret(std::string_view given, std::string_view wanted) {
  unsigned difference = given.size() == wanted.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(wanted[i % std::max<size_t>(1, wanted.size())]);
  return difference == 0;
}

bool is_address(const std::string& text) {
  in6_addr any;
  return ::inet_pton(AF_INET, text.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &any) == 1;
}

const char* type_of(const std::string& path) {
  return path.ends_with(".json") ? "application/json" : "application/octet-stream";
}

}  // namespace

bool is_known_host(std::string_view host, const std::vector<std::string>& names) {
  std::string_view port;
  std::string name;
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    name = host.substr(1, end - 1);
    port = host.substr(end + 1);
    if (!is_address(name)) return false;
  } else {
    const size_t colon = std::min(host.find(':'), host.size());
    name = host.substr(0, colon);
    port = host.substr(colon);
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!port.empty() && (port[0] != ':' || !std::ranges::all_of(port.substr(1), is_digit)))
    return false;
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  return is_address(name) || name == "localhost" || name == own ||
         std::ranges::find(names, name) != names.end();
}

File open_below(const File& root, const std::string& path) {
  File folder;
  size_t begin = 0;
  for (size_t slash; (slash = path.find('/', begin)) != std::string::npos; begin = slash + 1) {
    const std::string part = path.substr(begin, slash - begin);
    folder = open_file(folder.is_open() ? folder.get() : root.get(), part.c_str(),
                       O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (!folder.is_open()) return File();
  }
  File file = open_file(folder.is_open() ? folder.get() : root.get(), path.substr(begin).c_str(),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK);  // a pipe must not stop us
  struct stat info;
  if (!file.is_open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return File();
  return file;
}

Connection::Connection(const ServeOptions& options, const File& root, const File& socket,
                       ServeCounters& counters)
    : options_(options), root_(root), socket_(socket), counters_(counters) {
  const timeval patience{options_.patience.count(), 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int yes = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void Connection::serve() {
  while (serve_one()) {
  }
}

void Connection::refuse(int status) { send_status(status, nullptr); }

// Whether the connection goes on.
bool Connection::serve_one() {
  std::string head;
  if (!receive_head(head)) return false;
  ++counters_.requests;
  ServedRequest request;
  std::optional<Refusal> refusal = parse_request(head, request);
  if (!refusal)
    if (const int status = check_client(request)) refusal = Refusal{status};
  if (!refusal) return answer(request) && request.keep_alive;
  ++counters_.refused;
  send_status(refusal->status, nullptr);
  return false;
}

// A client that sends its head byte by byte has as long for all of it as a silent one.
bool Connection::receive_head(std::string& head) {
  const auto end = std::chrono::steady_clock::now() + options_.patience;
  size_t size = 0;
  while ((size = head_size(received_)) == 0) {
    if (received_.size() > kLargestHead) return refuse(431), false;
    if (std::chrono::steady_clock::now() > end) return refuse(408), false;
    char bytes[4096];
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    received_.append(bytes, static_cast<size_t>(got));
  }
  head = received_.substr(0, size);
  received_.erase(0, size);
  return true;
}

// 0: welcome.
int Connection::check_client(const ServedRequest& request) const {
  if (!is_known_host(request.host, options_.names)) return 421;
  if (options_.token.empty()) return 0;
  const std::string* given = request.find("authorization");
  return given != nullptr && is_same_secret(*given, "Bearer " + options_.token) ? 0 : 401;
}

bool Connection::answer(const ServedRequest& request) {
  const File file = open_below(root_, request.path);
  struct stat info;
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) return send_status(404, &request);
  const FileAnswer found = answer_file(request, static_cast<uint64_t>(info.st_size), etag_of(info));
  const bool body = request.method == "GET" && found.size > 0;
  std::string head = status_line(found.status) + found.headers;
  // A 304 has no length: it would be that of the whole.
  if (found.status != 304) head += "Content-Length: " + std::to_string(found.size) + "\r\n";
  head += std::string("Content-Type: ") + type_of(request.path) +
          "\r\nX-Content-Type-Options: nosniff\r\n";
  head += request.keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return send_text(head, body) && (!body || send_file(file, found.begin, found.size));
}

bool Connection::send_status(int status, const ServedRequest* request) {
  std::string text = status_line(status);
  const std::string words = text.substr(9, text.size() - 11) + "\n";
  text += "Content-Type: text/plain\r\nContent-Length: " + std::to_string(words.size()) + "\r\n";
  if (status == 401) text += "WWW-Authenticate: Bearer\r\n";
  if (status == 405) text += "Allow: GET, HEAD\r\n";
  const bool keep = request != nullptr && request->keep_alive;
  text += keep ? "\r\n" : "Connection: close\r\n\r\n";
  if (request == nullptr || request->method != "HEAD") text += words;
  return send_text(text, false);
}

bool Connection::send_text(const std::string& text, bool more) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t put =
        ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    rest.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

// False also when the file became shorter: the client sees a body that is cut.
bool Connection::send_file(const File& file, uint64_t begin, uint64_t size) {
  auto offset = static_cast<off_t>(begin);
  while (size > 0) {
    const ssize_t put =
        ::sendfile(socket_.get(), file.get(), &offset, std::min<uint64_t>(size, kSendAtOnce));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    size -= static_cast<uint64_t>(put);
    counters_.bytes += static_cast<uint64_t>(put);
  }
  return true;
}

}  // namespace headrace
