#include "io/bucket/upload_sink.h"

#include <thread>

#include "base/try.h"

namespace headrace {
namespace {

// Two writers of one object at once: the service asks one of them to try again.
constexpr int kConflict = 409;
constexpr int kMostTries = 5;
constexpr auto kBetweenTries = std::chrono::milliseconds(200);
constexpr auto kPatienceToRemove = std::chrono::seconds(5);

}  // namespace

UploadSink::UploadSink(std::shared_ptr<Fetcher> fetcher,
                       std::shared_ptr<const BucketService> service, std::string key)
    : fetcher_(std::move(fetcher)),
      service_(std::move(service)),
      name_(service_->name() + "/" + key),
      limits_(service_->limits()),
      upload_{.key = std::move(key)} {}

UploadSink::~UploadSink() {
  static_cast<void>(wait_for(0));
  if (!begun_) return;
  for (HttpCall& call : service_->remove_parts(upload_, done_)) {
    call.patience = kPatienceToRemove;
    static_cast<void>(fetcher_->send(std::move(call)));
  }
}

Status UploadSink::append(ByteView bytes) {
  while (!bytes.empty()) {
    if (buffer_.size() == limits_.part_bytes) HR_CHECK(send_part());
    const size_t taken = std::min<size_t>(bytes.size(), limits_.part_bytes - buffer_.size());
    buffer_ += as_text(bytes.first(taken));
    bytes = bytes.subspan(taken);
  }
  return {};
}

Status UploadSink::commit() {
  HR_TRY(const bool written, finish(false));
  static_cast<void>(written);
  return {};
}

Result<bool> UploadSink::commit_if_absent() {
  if (!service_->refuses_second_put()) {
    HR_TRY(const bool there, is_there());
    if (there) return false;
  }
  return finish(true);
}

Result<bool> UploadSink::finish(bool if_absent) {
  if (begun_) {
    HR_CHECK(send_part());
    HR_CHECK(wait_for(0));
  }
  const auto whole = std::make_shared<const std::string>(std::move(buffer_));
  for (int tries = 1;; ++tries) {
    HR_TRY(const HttpResponse answer, begun_ ? complete(if_absent) : put(whole, if_absent));
    if (answer.is_success()) break;
    if (if_absent && answer.status == 412) return false;
    const bool again = answer.status == kConflict || answer.status >= 500;
    if (!again || tries == kMostTries) return service_->error("write", name_, answer);
    std::this_thread::sleep_for(kBetweenTries);
  }
  done_ = true;
  return true;
}

Result<HttpResponse> UploadSink::put(const std::shared_ptr<const std::string>& body,
                                     bool if_absent) {
  return send_to(*service_, *fetcher_, [&] { return service_->put(upload_.key, body, if_absent); });
}

// If the answer to a completion is lost, the second attempt finds no upload: it has become the
// object.
Result<HttpResponse> UploadSink::complete(bool if_absent) {
  HR_TRY(HttpResponse answer, send_to(*service_, *fetcher_, [&] {
           return service_->complete_upload(upload_, if_absent);
         }));
  if (answer.status == 404 && is_ours()) answer.status = 200;
  return answer;
}

Status UploadSink::begin() {
  HttpResponse answer;
  if (!service_->begin_upload(upload_.key).request.method.empty()) {
    HR_TRY(answer,
           send_to(*service_, *fetcher_, [&] { return service_->begin_upload(upload_.key); }));
    if (!answer.is_success()) return service_->error("write", name_, answer);
  }
  HR_TRY(upload_.id, service_->parse_upload(answer));
  begun_ = true;
  return {};
}

Status UploadSink::send_part() {
  if (!begun_) HR_CHECK(begin());
  if (buffer_.empty()) return {};
  const size_t number = upload_.parts.size();
  if (number == limits_.most_parts)
    return Error{.code = Code::kUsage,
                 .message = "the object is larger than the service takes in parts",
                 .origin = {.shard = name_},
                 .hint = "Write smaller shards."};
  HR_CHECK(wait_for(kMostAtOnce - 1));
  HR_CHECK(service_->ready());
  bytes_ += buffer_.size();
  const auto body = std::make_shared<const std::string>(std::move(buffer_));
  buffer_ = {};
  buffer_.reserve(limits_.part_bytes);
  {
    const std::lock_guard lock(mutex_);
    upload_.parts.emplace_back();
    ++in_flight_;
  }
  start_part(number, body, true);
  return {};
}

void UploadSink::start_part(size_t number, const std::shared_ptr<const std::string>& body,
                            bool again) {
  fetcher_->start(service_->put_part(upload_, number, body),
                  [this, number, body, again](Result<HttpResponse> answer) {
                    part_done(number, body, again, std::move(answer));
                  });
}

// On the fetcher's thread.
void UploadSink::part_done(size_t number, const std::shared_ptr<const std::string>& body,
                           bool again, Result<HttpResponse> answer) {
  if (again && answer.ok() && !answer->is_success() && service_->recover(*answer))
    return start_part(number, body, false);
  const std::lock_guard lock(mutex_);
  if (!answer.ok())
    failed_ = std::move(answer).error();
  else if (!answer->is_success())
    failed_ = service_->error("write", name_, *answer);
  else
    upload_.parts[number] = service_->part_mark(*answer, number);
  --in_flight_;
  changed_.notify_all();
}

Status UploadSink::wait_for(size_t most_in_flight) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ <= most_in_flight; });
  if (failed_) return *failed_;
  return {};
}

Result<bool> UploadSink::is_there() const {
  HR_TRY(const HttpResponse answer,
         send_to(*service_, *fetcher_, [&] { return service_->object("HEAD", upload_.key); }));
  if (answer.is_success()) return true;
  if (answer.status == 404) return false;
  return service_->error("look up", name_, answer);
}

bool UploadSink::is_ours() const {
  const auto answer =
      send_to(*service_, *fetcher_, [&] { return service_->object("HEAD", upload_.key); });
  return answer.ok() && answer->is_success() && answer->total_bytes() == bytes_ &&
         service_->is_completed(upload_, answer->etag());
}

}  // namespace headrace
