// A Store on a web server: `http://host/folder`, `https://host/folder`. Objects are read by ranges,
// or streamed where there are none, and pinned by their ETag (or else the date of their last
// change); redirects are followed, and the last address is kept for the next read.
//
// Most web servers give no lists, so a data set there is opened by its manifest or by the names of
// its shards. One that speaks WebDAV is also listed and written to.
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "headrace/store.h"
#include "io/http/fetcher.h"
#include "io/http/http_object.h"
#include "io/http/webdav.h"

namespace headrace {

class HttpStore : public Store {
 public:
  /// `location`: the folder's address, percent-encoded as an address is.
  static Result<std::shared_ptr<Store>> open_location(const std::string& location);
  /// One object by its whole address, query included.
  static Result<std::unique_ptr<ByteSource>> open_address(const std::string& address);

  HttpStore(Url root, std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const Signer> headers,
            std::shared_ptr<RangeService> ranges = std::make_shared<RangeService>());

  const std::string& name() const override { return name_; }
  Result<std::unique_ptr<ByteSource>> open(const std::string& path) const override;
  Result<std::unique_ptr<ByteSource>> open_known(const std::string& path,
                                                 uint64_t bytes) const override;
  Result<std::string> read(const std::string& path) const override;
  Result<bool> exists(const std::string& path) const override;
  Result<std::vector<StoreEntry>> list(const std::string& prefix) const override;
  Result<std::unique_ptr<ByteSink>> create(const std::string& path) override;
  Status remove(const std::string& path) override;
  bool creates_atomically() const override { return false; }
  Status sync() override { return {}; }

 private:
  std::shared_ptr<HttpObject> object(const std::string& path) const;
  Result<HttpResponse> head(const HttpObject& object) const;
  Result<HttpResponse> first_byte(const HttpObject& object) const;
  Result<std::unique_ptr<ByteSource>> open(const std::shared_ptr<HttpObject>& object) const;

  const Url root_;
  const std::string name_;
  const std::shared_ptr<Fetcher> fetcher_;
  const std::shared_ptr<const Signer> headers_;
  const std::shared_ptr<RangeService> ranges_;
  const WebDav dav_;
};

/// Headers that HEADRACE_HTTP_HEADERS gives for the origin of an address, as a signer: lines
/// "https://host:port Name: value". nullptr if there are none.
std::shared_ptr<const Signer> configured_headers(const Url& address);

}  // namespace headrace
