// A FileServer offers the files of one folder over HTTP/1.1: GET and HEAD, ranges, ETags, bodies by
// sendfile. It writes nothing, follows no symbolic link below its folder, and shows no name that
// begins with a dot.
//
// Without a token it listens on loopback addresses alone. A Host that is no address, not
// "localhost" and not a name of this machine is refused, so that a web page cannot reach it through
// a name of its own.
//
// Ownership: it has its threads, one a connection, until it is destroyed. Thread-safety: counters
// may be read from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/result.h"

namespace headrace {

struct ServeOptions {
  std::string folder;
  std::string host = "127.0.0.1";       ///< address or name to listen on
  uint16_t port = 0;                    ///< 0: any that is free
  std::string token = {};               ///< what clients send as "Authorization: Bearer TOKEN"
  std::vector<std::string> names = {};  ///< more names that a Host may have
  unsigned max_connections = 1024;      ///< more get a 503
  std::chrono::seconds patience = std::chrono::seconds(60);  ///< with a client that does nothing
};

struct ServeCounters {
  std::atomic<uint64_t> requests{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> bytes{0};
};

class FileServer {
 public:
  /// Listens when it returns. Code::kUsage for an address outside this machine without a token.
  static Result<std::unique_ptr<FileServer>> start(ServeOptions options);
  ~FileServer();
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;

  uint16_t port() const;
  const ServeCounters& counters() const;

 private:
  class Impl;
  explicit FileServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace
