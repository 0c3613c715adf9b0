#include "io/http/http_store.h"

#include <mutex>

#include "base/try.h"
#include "io/environment.h"
#include "io/http/curl.h"
#include "io/remote_source.h"
#include "io/urls.h"

namespace headrace {
namespace {

constexpr unsigned kMostRedirects = 5;

class FixedHeaders : public Signer {
 public:
  explicit FixedHeaders(HttpHeaders headers) : headers_(std::move(headers)) {}
  Status sign(HttpRequest& request) const override {
    for (const auto& [name, value] : headers_) request.headers.set(name, value);
    return {};
  }

 private:
  const HttpHeaders headers_;
};

HttpStore store_at(Url root) {
  while (root.path.ends_with('/')) root.path.pop_back();
  auto headers = configured_headers(root);
  return HttpStore(std::move(root), Fetcher::shared(), std::move(headers));
}

}  // namespace

class HttpStore::Object : public RemoteObject {
 public:
  Object(std::string name, Url url, std::shared_ptr<const Signer> headers)
      : name_(std::move(name)), url_(std::move(url)), headers_(std::move(headers)) {}

  const std::string& name() const override { return name_; }
  bool has_query() const { return !url_.query.empty(); }

  HttpCall get(const std::string&) const override {
    HttpCall call{.request = {}, .object = name_, .signer = headers_, .redirects = kMostRedirects};
    std::scoped_lock lock(mutex_);
    call.request.url = found_ ? *found_ : url_;
    // Where a redirect led may be another's host.
    if (!call.request.url.same_origin(url_)) call.signer = nullptr;
    return call;
  }

  std::string version(const HttpResponse& answer) const override {
    const std::string etag = answer.etag();
    return etag.empty() ? std::string(answer.headers.get("Last-Modified")) : etag;
  }

  void found_at(const Url& url) const override {
    std::scoped_lock lock(mutex_);
    if (url != url_) found_ = url;
  }

  Error error(const HttpResponse& answer) const override { return refusal("read", answer); }
  /// Where signatures are checked, what the server says may hold them.
  Error refusal(std::string_view action, HttpResponse answer) const {
    if (!has_query()) return http_error(action, name_, answer);
    answer.body.clear();
    Error error = http_error(action, name_, answer);
    if (error.code == Code::kDenied)
      error.hint = "If the address is signed, its time may be over: sign it anew.";
    return error;
  }

  /// A remembered address may be a signed one that has expired: the object's own is asked again.
  bool recover(const HttpResponse&) const override {
    std::scoped_lock lock(mutex_);
    const bool was_elsewhere = found_.has_value();
    found_.reset();
    return was_elsewhere;
  }

 private:
  const std::string name_;
  const Url url_;
  const std::shared_ptr<const Signer> headers_;
  mutable std::mutex mutex_;
  mutable std::optional<Url> found_;
};

std::shared_ptr<const Signer> configured_headers(const Url& address) {
  HttpHeaders headers;
  for (const std::string& line : split_list(environment("HEADRACE_HTTP_HEADERS"))) {
    const size_t space = line.find(' ');
    const size_t colon = line.find(':', space == std::string::npos ? 0 : space);
    if (space == std::string::npos || colon == std::string::npos) continue;
    const auto origin = Url::parse(line.substr(0, space));
    if (!origin.ok() || !origin->same_origin(address)) continue;
    const size_t value = line.find_first_not_of(' ', colon + 1);
    headers.add(line.substr(space + 1, colon - space - 1),
                value == std::string::npos ? "" : line.substr(value));
  }
  if (headers.empty()) return nullptr;
  return std::make_shared<FixedHeaders>(std::move(headers));
}

Result<std::shared_ptr<Store>> HttpStore::open_location(const std::string& location) {
  HR_CHECK(load_curl());
  HR_TRY(Url root, Url::parse(location));
  if (!root.query.empty())
    return Error{.code = Code::kUsage,
                 .message = "'" + root.redacted() + "' is an address with a query, not a folder",
                 .hint = "With a query, name shards: their names end in .tar, .tar.zst or .zip."};
  return std::shared_ptr<Store>(std::make_shared<HttpStore>(store_at(std::move(root))));
}

Result<std::unique_ptr<ByteSource>> HttpStore::open_address(const std::string& address) {
  HR_CHECK(load_curl());
  HR_TRY(Url url, Url::parse(address));
  const HttpStore store = store_at(url);
  std::string name = url.redacted();
  return store.open(std::make_shared<Object>(std::move(name), std::move(url), store.headers_));
}

HttpStore::HttpStore(Url root, std::shared_ptr<Fetcher> fetcher,
                     std::shared_ptr<const Signer> headers)
    : root_(std::move(root)),
      name_(root_.origin() + root_.path),
      fetcher_(std::move(fetcher)),
      headers_(std::move(headers)),
      dav_(fetcher_, headers_, root_) {}

std::shared_ptr<HttpStore::Object> HttpStore::object(const std::string& path) const {
  Url url = root_;
  url.path += "/" + percent_encode(path, "/");
  std::string name = url.to_string();
  return std::make_shared<Object>(std::move(name), std::move(url), headers_);
}

/// Status and headers of an object; of a server that refuses HEAD, by its first byte. Signed
/// addresses are for GET alone.
Result<HttpResponse> HttpStore::head(const Object& object) const {
  HttpCall call = object.get("");
  call.request.method = "HEAD";
  HR_TRY(HttpResponse answer, fetcher_->send(std::move(call)));
  const bool may_be_signed = object.has_query() && (answer.status == 403 || answer.status == 400);
  if (answer.status != 405 && answer.status != 501 && !may_be_signed) return answer;
  call = object.get("");
  call.request.range = {0, 0};
  return fetcher_->send(std::move(call));
}

/// Asks for the first byte of an object whose server has not said that it serves ranges.
Status HttpStore::check_ranges(const Object& object) const {
  HttpCall call = object.get("");
  call.request.headers.set("Range", "bytes=0-0");
  call.check = [&](const HttpResponse& answer) -> Status {
    if (answer.status == 206 || answer.headers.find("Content-Range") != nullptr) return {};
    return Error{.code = Code::kUsage,
                 .message = "the server serves no ranges of it",
                 .origin = {.shard = object.name()},
                 .hint = "Copy it to a folder or a bucket first."};
  };
  HR_TRY(const HttpResponse answer, fetcher_->send(std::move(call)));
  return answer.is_success() ? Status() : object.refusal("open", answer);
}

Result<std::unique_ptr<ByteSource>> HttpStore::open(const std::string& path) const {
  return open(object(path));
}

Result<std::unique_ptr<ByteSource>> HttpStore::open(std::shared_ptr<Object> opened) const {
  HR_TRY(const HttpResponse answer, head(*opened));
  if (!answer.is_success()) return opened->refusal("open", answer);
  opened->found_at(answer.url);
  const bool says_ranges = answer.status == 206 || answer.headers.get("Accept-Ranges") == "bytes";
  if (!says_ranges && answer.total_bytes().value_or(0) > 0) HR_CHECK(check_ranges(*opened));
  return open_remote(fetcher_, opened, answer);
}

Result<std::unique_ptr<ByteSource>> HttpStore::open_known(const std::string& path,
                                                          uint64_t bytes) const {
  return std::unique_ptr<ByteSource>(std::make_unique<RemoteSource>(fetcher_, object(path), bytes));
}

Result<std::string> HttpStore::read(const std::string& path) const {
  return read_remote(*fetcher_, *object(path));
}

Result<bool> HttpStore::exists(const std::string& path) const {
  const auto asked = object(path);
  HR_TRY(const HttpResponse answer, head(*asked));
  if (answer.is_success()) return true;
  if (answer.status == 404 || answer.status == 410) return false;
  return asked->refusal("look at", answer);
}

Result<std::vector<StoreEntry>> HttpStore::list(const std::string& prefix) const {
  return dav_.list(prefix);
}

Result<std::unique_ptr<ByteSink>> HttpStore::create(const std::string& path) {
  return dav_.create(path);
}

Status HttpStore::remove(const std::string& path) { return dav_.remove(path); }

}  // namespace headrace
