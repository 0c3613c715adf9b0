#include "io/http/put.h"

#include <utility>

#include "base/try.h"
#include "io/http/curl.h"
#include "io/http/fetcher.h"
#include "io/http/http_store.h"
#include "io/spool.h"

namespace headrace {
namespace {

constexpr unsigned kMostRedirects = 5;

class AddressSink : public ByteSink {
 public:
  explicit AddressSink(Url url) : url_(std::move(url)) {}

  Status append(ByteView bytes) override { return spool_->append(bytes); }

  Status commit() override {
    HR_TRY([[maybe_unused]] const bool written, put(false));
    return {};
  }

  Result<bool> commit_if_absent() override { return put(true); }

 private:
  /// False where it must be absent and is not.
  Result<bool> put(bool absent) {
    HttpCall call{.request = {}, .object = url_.redacted(), .redirects = kMostRedirects};
    call.signer = configured_headers(url_);
    call.request.method = "PUT";
    call.request.url = url_;
    HR_TRY(call.request.body, spool_->view());
    call.request.body_owner = spool_;
    if (absent) call.request.headers.set("If-None-Match", "*");
    HR_TRY(const HttpResponse answer, Fetcher::shared()->send(std::move(call)));
    if (absent && answer.status == 412) return false;
    if (!answer.is_success()) return http_error("write", url_.redacted(), answer);
    return true;
  }

  const Url url_;
  const std::shared_ptr<Spool> spool_ = std::make_shared<Spool>();
};

}  // namespace

Result<std::unique_ptr<ByteSink>> put_address(const std::string& address) {
  HR_CHECK(load_curl());
  HR_TRY(Url url, Url::parse(address));
  return std::unique_ptr<ByteSink>(std::make_unique<AddressSink>(std::move(url)));
}

}  // namespace headrace
