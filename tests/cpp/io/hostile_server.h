// A web server that misbehaves as it is told: for tests of what clients make of it.
//
// It serves one object of bytes that follow from their offsets, by ranges, on a port of its own of
// the loopback interface, a thread a connection. Before each answer it asks what to do wrong.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "io/http/fetcher.h"

namespace headrace {

enum class Fault {
  none,
  reset_before_header,
  reset_in_header,
  reset_in_body,
  reset_at_last_byte,
  answer_500,
  answer_503,
  answer_503_later,  // Retry-After: 1
  answer_429,
  length_too_long,
  length_too_short,
  wrong_range,
  whole_for_range,
  gzip_unasked,
  stall_in_body,
  late,        // right, after 400 ms
  slow_loris,  // a byte now and then, of the header too
  another_version,
  redirect_to_itself,
  count
};

class HostileServer {
 public:
  struct Request {
    std::string head;  // request line and headers
    std::string header(std::string_view name) const {
      const size_t at = head.find("\r\n" + std::string(name) + ": ");
      if (at == std::string::npos) return "";
      const size_t begin = at + name.size() + 4;
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
  };
  using Choose = std::function<Fault(const Request&)>;
  struct Habits {
    bool ranges = true;  // false: every answer is the whole object
    bool tag = true;     // false: no ETag says which version it is
  };

  HostileServer(uint64_t bytes, Choose choose, Habits habits)
      : bytes_(bytes), choose_(std::move(choose)), habits_(habits) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    listen(listener_, 64);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  HostileServer(uint64_t bytes, Choose choose) : HostileServer(bytes, std::move(choose), {}) {}
  ~HostileServer() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    {
      std::scoped_lock lock(mutex_);
      for (const int connection : connections_) shutdown(connection, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/object"; }
  uint64_t requests() const { return requests_; }
  static std::byte byte_at(uint64_t offset) { return static_cast<std::byte>(offset * 31 + 7); }

 private:
  void accept_all() {
    for (;;) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0 || stopping_) {
        if (connection >= 0) close(connection);
        return;
      }
      std::scoped_lock lock(mutex_);
      connections_.push_back(connection);
      threads_.emplace_back([this, connection] { serve(connection); });
    }
  }

  void serve(int connection) {
    std::string buffer;
    while (!stopping_) {
      size_t end;
      while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
        char piece[4096];
        const ssize_t got = recv(connection, piece, sizeof piece, 0);
        if (got <= 0) return forget(connection);
        buffer.append(piece, static_cast<size_t>(got));
      }
      const Request request{buffer.substr(0, end + 2)};
      buffer.erase(0, end + 4);
      ++requests_;
      if (!answer(connection, request, choose_(request))) break;
    }
    forget(connection);
  }

  void forget(int connection) {
    std::scoped_lock lock(mutex_);
    std::erase(connections_, connection);
    const linger reset{.l_onoff = 1, .l_linger = 0};  // a reset, not an orderly end
    setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(connection);
  }

  static bool send_all(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  /// What is sent before a reset has to arrive: a reset throws away what waits.
  static void let_it_arrive() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

  static std::string head(const std::string& status, uint64_t length,
                          const std::string& more = "") {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(length) + "\r\n" + more +
           "\r\n";
  }

  /// False: the connection ends.
  bool answer(int connection, const Request& request, Fault fault) {
    uint64_t first = 0, last = bytes_ - 1;
    const std::string range = request.header("Range");
    const bool ranged = habits_.ranges && !range.empty();
    if (ranged) {
      first = std::stoull(range.substr(6));
      last = std::min<uint64_t>(last, std::stoull(range.substr(range.find('-') + 1)));
    }
    std::string body;
    for (uint64_t at = first; at <= last; ++at) body += static_cast<char>(byte_at(at));
    const auto range_header = [&](uint64_t from, uint64_t to) {
      return ranged ? "Content-Range: bytes " + std::to_string(from) + "-" + std::to_string(to) +
                          "/" + std::to_string(bytes_) + "\r\n"
                    : std::string();
    };
    const std::string status = ranged ? "206 Partial Content" : "200 OK";
    const std::string tag = habits_.tag ? "ETag: \"one\"\r\n" : "";
    const std::string other_tag = habits_.tag ? "ETag: \"two\"\r\n" : "";
    const std::string good = head(status, body.size(), tag + range_header(first, last));
    switch (fault) {
      case Fault::reset_before_header:
        return false;
      case Fault::reset_in_header:
        send_all(connection, good.substr(0, good.size() / 2));
        let_it_arrive();
        return false;
      case Fault::reset_in_body:
        send_all(connection, good + body.substr(0, body.size() / 2));
        let_it_arrive();
        return false;
      case Fault::reset_at_last_byte:
        send_all(connection, good + body.substr(0, body.size() - 1));
        let_it_arrive();
        return false;
      case Fault::answer_500:
        return send_all(connection, head("500 Oops", 4) + "oops");
      case Fault::answer_503:
        return send_all(connection, head("503 Slow Down", 0));
      case Fault::answer_503_later:
        return send_all(connection, head("503 Slow Down", 0, "Retry-After: 1\r\n"));
      case Fault::answer_429:
        return send_all(connection, head("429 Too Many Requests", 0));
      case Fault::length_too_long:
        send_all(connection, head(status, body.size() + 9, tag + range_header(first, last)) + body);
        let_it_arrive();
        return false;
      case Fault::length_too_short:
        return send_all(connection, head(status, body.size() / 2, tag + range_header(first, last)) +
                                        body.substr(0, body.size() / 2));
      case Fault::wrong_range:
        return send_all(connection,
                        head(status, body.size(), tag + range_header(first + 1, last + 1)) + body);
      case Fault::whole_for_range:
        return send_all(connection, head("200 OK", body.size(), tag) + body);
      case Fault::gzip_unasked:
        return send_all(connection,
                        head(status, body.size(),
                             tag + "Content-Encoding: gzip\r\n" + range_header(first, last)) +
                            body);
      case Fault::stall_in_body:
        send_all(connection, good + body.substr(0, body.size() / 2));
        while (!stopping_ && is_connected(connection)) let_it_arrive();
        return false;
      case Fault::late:
        for (int i = 0; i < 200 && !stopping_; ++i) let_it_arrive();
        return send_all(connection, good + body);
      case Fault::slow_loris:
        for (const char byte : good + body) {
          if (stopping_ || !send_all(connection, {&byte, 1})) return false;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return true;
      case Fault::another_version:
        return send_all(connection,
                        head(status, body.size(), other_tag + range_header(first, last)) +
                            std::string(body.size(), 'x'));
      case Fault::redirect_to_itself:
        return send_all(connection, head("302 Found", 0, "Location: " + url() + "\r\n"));
      default:
        return send_all(connection, good + body);
    }
  }

  static bool is_connected(int connection) {
    char byte;
    return recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
  }

  const uint64_t bytes_;
  const Choose choose_;
  const Habits habits_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> requests_{0};
  std::mutex mutex_;
  std::vector<int> connections_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// A fetcher that does not wait long for it.
inline FetcherOptions quick() {
  FetcherOptions options;
  options.first_delay = std::chrono::milliseconds(1);
  options.longest_delay = std::chrono::milliseconds(4);
  options.slow_for = std::chrono::seconds(1);
  return options;
}

}  // namespace headrace
