// Writing to a web server that takes it: WebDAV's PUT, MKCOL, MOVE, DELETE and PROPFIND.
//
//   commit()   MKCOL of the folders that are missing
//              PUT   name.part-<id>                 in one request, spooled before
//              MOVE  name.part-<id> -> name         Overwrite: T, or F where it must be absent
//
// So an object appears whole. Most servers look and then move, so two writers that come at the same
// instant are not kept apart.
// Source: RFC 4918. Thread-safe, but for sinks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "io/http/fetcher.h"

namespace headrace {

class WebDav {
 public:
  WebDav(std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const Signer> headers, Url root);

  /// `path` is relative to the root, not encoded.
  std::unique_ptr<ByteSink> create(const std::string& path) const;
  Status remove(const std::string& path) const;
  /// Every object under `prefix`, sorted; one request a folder. Code::kUsage if the server gives no
  /// lists.
  Result<std::vector<StoreEntry>> list(const std::string& prefix) const;

 private:
  class Sink;

  Url address(const std::string& path) const;
  HttpCall call(const char* method, const std::string& path) const;
  Status make_folders(const std::string& path) const;
  Status list_folder(const std::string& folder, std::vector<StoreEntry>* files,
                     std::vector<std::string>* folders) const;

  const std::shared_ptr<Fetcher> fetcher_;
  const std::shared_ptr<const Signer> headers_;
  const Url root_;
};

}  // namespace headrace
