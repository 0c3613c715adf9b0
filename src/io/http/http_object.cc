#include "io/http/http_object.h"

#include <utility>

#include "headrace/notes.h"

namespace headrace {
namespace {

constexpr unsigned kMostRedirects = 5;

}  // namespace

HttpObject::HttpObject(Url url, std::shared_ptr<const Signer> headers,
                       std::shared_ptr<RangeService> service)
    : url_(std::move(url)),
      name_(url_.redacted()),
      headers_(std::move(headers)),
      service_(std::move(service)) {}

HttpCall HttpObject::get(const std::string&) const {
  HttpCall call{.request = {}, .object = name_, .signer = headers_, .redirects = kMostRedirects};
  call.ranges_unknown = !service_->serves;
  const std::scoped_lock lock(mutex_);
  call.request.url = found_ ? *found_ : url_;
  // Where a redirect led may be another's host.
  if (!call.request.url.same_origin(url_)) call.signer = nullptr;
  return call;
}

std::string HttpObject::version(const HttpResponse& answer) const {
  std::string etag = answer.etag();
  if (!etag.empty()) return etag;
  is_dated_ = true;
  return std::string(answer.headers.get("Last-Modified"));
}

void HttpObject::found_at(const Url& url) const {
  const std::scoped_lock lock(mutex_);
  if (url != url_) found_ = url;
}

/// A remembered address may be a signed one that has expired: the object's own is asked again.
bool HttpObject::recover(const HttpResponse&) const {
  const std::scoped_lock lock(mutex_);
  return std::exchange(found_, std::nullopt).has_value();
}

Error HttpObject::refusal(std::string_view action, HttpResponse answer) const {
  if (!has_query()) return http_error(action, name_, answer);
  answer.body.clear();
  Error error = http_error(action, name_, answer);
  if (error.code == Code::kDenied)
    error.hint = "If the address is signed, its time may be over: sign it anew.";
  return error;
}

void HttpObject::note_streaming() const {
  service_->refuses = true;
  note_once(url_.origin() +
            " serves no ranges: each object is read once, whole, into a temporary file (TMPDIR)");
}

}  // namespace headrace
