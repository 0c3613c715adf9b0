#include "io/http/http_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "base/try.h"
#include "io/environment.h"
#include "io/http/curl.h"
#include "io/http/http_source.h"
#include "io/urls.h"

namespace headrace {
namespace {

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

/// Of objects that are opened one by one by their addresses: they are many in one folder.
std::shared_ptr<RangeService> ranges_in(const Url& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<RangeService>> known;
  const std::scoped_lock lock(mutex);
  auto& ranges = known[folder.redacted()];
  if (!ranges) ranges = std::make_shared<RangeService>();
  return ranges;
}

}  // namespace

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
  while (root.path.ends_with('/')) root.path.pop_back();
  auto headers = configured_headers(root);
  return std::shared_ptr<Store>(
      std::make_shared<HttpStore>(std::move(root), Fetcher::shared(), std::move(headers)));
}

Result<std::unique_ptr<ByteSource>> HttpStore::open_address(const std::string& address) {
  HR_CHECK(load_curl());
  HR_TRY(Url url, Url::parse(address));
  Url folder = url;
  folder.query.clear();
  folder.path.resize(std::min(folder.path.rfind('/'), folder.path.size()));
  const auto ranges = ranges_in(folder);
  const HttpStore store(std::move(folder), Fetcher::shared(), configured_headers(url), ranges);
  return store.open(std::make_shared<HttpObject>(std::move(url), store.headers_, ranges));
}

HttpStore::HttpStore(Url root, std::shared_ptr<Fetcher> fetcher,
                     std::shared_ptr<const Signer> headers, std::shared_ptr<RangeService> ranges)
    : root_(std::move(root)),
      name_(root_.origin() + root_.path),
      fetcher_(std::move(fetcher)),
      headers_(std::move(headers)),
      ranges_(std::move(ranges)),
      dav_(fetcher_, headers_, root_) {}

std::shared_ptr<HttpObject> HttpStore::object(const std::string& path) const {
  Url url = root_;
  url.path += "/" + percent_encode(path, "/");
  return std::make_shared<HttpObject>(std::move(url), headers_, ranges_);
}

/// Status and headers of an object; of a server that refuses HEAD, by its first byte. Signed
/// addresses are for GET alone.
Result<HttpResponse> HttpStore::head(const HttpObject& object) const {
  HttpCall call = object.get("");
  call.request.method = "HEAD";
  HR_TRY(HttpResponse answer, fetcher_->send(std::move(call)));
  const bool may_be_signed = object.has_query() && (answer.status == 403 || answer.status == 400);
  if (answer.status != 405 && answer.status != 501 && !may_be_signed) return answer;
  return first_byte(object);
}

/// The answer to a request for the first byte. Where there are no ranges it is that of the whole
/// object, whose body is not waited for.
Result<HttpResponse> HttpStore::first_byte(const HttpObject& object) const {
  HttpCall call = object.get("");
  call.request.headers.set("Range", "bytes=0-0");
  std::optional<HttpResponse> whole;
  call.check = [&](const HttpResponse& answer) -> Status {
    if (answer.is_range()) return {};
    whole = answer;
    // From a server that has served ranges it may be a fault: then it is tried again.
    return Error{.code = object.service().serves ? Code::kPartial : Code::kUsage,
                 .message = "the server serves no ranges",
                 .origin = {.shard = object.name()}};
  };
  auto answer = fetcher_->send(std::move(call));
  return !answer.ok() && whole ? std::move(*whole) : std::move(answer);
}

Result<std::unique_ptr<ByteSource>> HttpStore::open(const std::string& path) const {
  return open(object(path));
}

Result<std::unique_ptr<ByteSource>> HttpStore::open(
    const std::shared_ptr<HttpObject>& object) const {
  HR_TRY(HttpResponse answer, head(*object));
  if (!answer.is_success()) return object->refusal("open", answer);
  object->found_at(answer.url);
  auto bytes = answer.total_bytes();
  bool has_ranges = answer.is_range() || answer.headers.get("Accept-Ranges") == "bytes";
  if (!has_ranges && bytes != 0 && !object->service().refuses) {
    HR_TRY(answer, first_byte(*object));
    if (!answer.is_success()) return object->refusal("open", answer);
    has_ranges = answer.is_range();
    if (const auto total = answer.total_bytes()) bytes = total;
  }
  if (answer.is_range()) object->service().serves = true;
  if (has_ranges) object->service().refuses = false;  // it was mended
  auto pin = std::make_shared<ObjectPin>(bytes, object->version(answer));
  std::shared_ptr<Download> whole;
  if (!bytes) {
    whole = std::make_shared<Download>(object, pin);
    HR_TRY(bytes, whole->whole(*fetcher_));
    pin = std::make_shared<ObjectPin>(bytes, pin->version());
  }
  auto source = std::make_unique<HttpSource>(fetcher_, object, std::move(pin));
  if (whole || (!has_ranges && *bytes > 0)) source->stream(std::move(whole));
  return std::unique_ptr<ByteSource>(std::move(source));
}

Result<std::unique_ptr<ByteSource>> HttpStore::open_known(const std::string& path,
                                                          uint64_t bytes) const {
  return std::unique_ptr<ByteSource>(
      std::make_unique<HttpSource>(fetcher_, object(path), std::make_shared<ObjectPin>(bytes, "")));
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
