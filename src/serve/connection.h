// One client of a FileServer: requests in, answers out, until one side has enough.
// Thread-safety: one thread at a time.
#pragma once

#include <string>

#include "io/file.h"
#include "serve/file_answer.h"
#include "serve/file_server.h"
#include "serve/http_request.h"

namespace headrace {

class Connection {
 public:
  /// Everything must outlive it.
  Connection(const ServeOptions& options, const File& root, const File& socket,
             ServeCounters& counters);

  void serve();
  /// Answers before anything was asked.
  void refuse(int status);

 private:
  bool serve_one();
  bool receive_head(std::string& head);
  int check_client(const ServedRequest& request) const;
  bool answer(const ServedRequest& request);
  bool send_status(int status, const ServedRequest* request);
  bool send_text(const std::string& text, bool more);
  bool send_file(const File& file, uint64_t begin, uint64_t size);

  const ServeOptions& options_;
  const File& root_;
  const File& socket_;
  ServeCounters& counters_;
  std::string received_;  // and not yet used
};

/// Opens the regular file `path` below `root`; not open if there is none, or a symbolic link is in
/// the way.
File open_below(const File& root, const std::string& path);

/// Whether the name in a Host header is an address, "localhost", this machine's or one of `names`.
bool is_known_host(std::string_view host, const std::vector<std::string>& names);

}  // namespace headrace
