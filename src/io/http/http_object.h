// One object of a web server by its address: how it is asked for, and what its answers say.
// Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/remote_source.h"

namespace headrace {

/// What answers have shown so far of the objects in one folder of a server. Thread-safe.
struct RangeService {
  std::atomic<bool> serves{false};   ///< some object by ranges: a whole answer is a fault
  std::atomic<bool> refuses{false};  ///< some object not: it need not be tried with the next one
};

class HttpObject final : public RemoteObject {
 public:
  /// `url`: query included, which name() is without. `headers` may be nullptr.
  HttpObject(Url url, std::shared_ptr<const Signer> headers, std::shared_ptr<RangeService> service);

  const std::string& name() const override { return name_; }
  bool has_query() const { return !url_.query.empty(); }
  RangeService& service() const { return *service_; }

  HttpCall get(const std::string& pinned) const override;
  /// The ETag, or else the date of the last change.
  std::string version(const HttpResponse& answer) const override;
  /// Whether a version says which bytes these are. With a query other objects may have this name,
  /// and be as old as this one.
  bool tells_bytes() const { return !has_query() || !is_dated_; }
  void found_at(const Url& url) const override;
  bool recover(const HttpResponse&) const override;
  Error error(const HttpResponse& answer) const override { return refusal("read", answer); }
  /// An answer that is an error, as http_error. Of a signed address without the server's words,
  /// which may repeat the signature.
  Error refusal(std::string_view action, HttpResponse answer) const;
  /// Says once a host that its objects are streamed.
  void note_streaming() const;

 private:
  const Url url_;
  const std::string name_;
  const std::shared_ptr<const Signer> headers_;
  const std::shared_ptr<RangeService> service_;
  mutable std::atomic<bool> is_dated_{false};
  mutable std::mutex mutex_;
  mutable std::optional<Url> found_;
};

}  // namespace headrace
