#include "io/http/http_source.h"

#include "base/try.h"

namespace headrace {

HttpSource::HttpSource(std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const HttpObject> object,
                       std::shared_ptr<ObjectPin> pin)
    : fetcher_(std::move(fetcher)),
      object_(std::move(object)),
      pin_(std::move(pin)),
      ranges_(fetcher_, object_, pin_) {}

void HttpSource::stream(std::shared_ptr<Download> begun) {
  if (begun)
    downloads_.get([&] { return std::make_unique<std::shared_ptr<Download>>(std::move(begun)); });
  streams_ = true;
  object_->note_streaming();
}

std::shared_ptr<Download> HttpSource::download() const {
  const auto is_complete = [](const std::shared_ptr<Download>& of) { return of->is_complete(); };
  if (const auto* whole = downloads_.find_settled(is_complete)) return *whole;
  return downloads_.get([this] {
    return std::make_unique<std::shared_ptr<Download>>(std::make_shared<Download>(object_, pin_));
  });
}

bool HttpSource::streams() const {
  // Another object may have shown it.
  if (object_->service().refuses && !object_->service().serves) streams_ = true;
  return streams_;
}

bool HttpSource::is_remote() const { return !streams() || !download()->is_complete(); }

Status HttpSource::read_at(uint64_t offset, MutableBytes into) const {
  return read_waiting(*this, offset, into);
}

void HttpSource::start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                            const Done& done) const {
  if (Status status = ranges_.check(offset, into.size()); !status.ok() || into.empty())
    return done(std::move(status));
  if (streams()) return download()->read(*fetcher_, offset, into, deadline, done);
  start_range(offset, into, deadline, [=, this](Status status) {
    if (status.ok() || status.error().code != Code::kUsage) return done(std::move(status));
    download()->read(*fetcher_, offset, into, deadline, done);
  });
}

void HttpSource::start_range(uint64_t offset, MutableBytes into, Deadline deadline,
                             const Done& done) const {
  if (streams())
    return done(Error{.code = Code::kUsage,
                      .message = "the server serves no ranges",
                      .origin = {.shard = name(), .offset = offset}});
  ranges_.start_read(offset, into, deadline, [=, this](Status status) {
    if (status.ok()) object_->service().serves = true;
    const bool refused = !status.ok() && status.error().code == Code::kUsage;
    if (refused && !streams_.exchange(true)) object_->note_streaming();
    done(std::move(status));
  });
}

/// Without a body: nothing shall be streamed for it.
Status HttpSource::ask_version() const {
  HttpCall call = object_->get("");
  call.request.method = "HEAD";
  HR_TRY(const HttpResponse answer, fetcher_->send(std::move(call)));
  return answer.is_success() ? pin_->check(*object_, answer) : Status(object_->error(answer));
}

std::string HttpSource::identity() const {
  const bool told = !streams_ && !ranges_.identity().empty();
  if (!told && !pin_->is_known() && !ask_version().ok()) return "";
  return object_->tells_bytes() ? object_identity(name(), pin_->version(), size()) : "";
}

}  // namespace headrace
