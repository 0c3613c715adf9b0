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
constexpr auto kPatienceToLook = std::chrono::seconds(10);
constexpr int kMostPages = 100;
constexpr const char* kAgain = "Run the same command again.";

// Nothing if that cannot be found out: then all parts are sent.
Unfinished find_unfinished(const BucketService& service, Fetcher& fetcher, const std::string& key) {
  Unfinished found;
  for (int page = 0; page < kMostPages && !found.is_whole; ++page) {
    if (service.list_unfinished(key, found).request.method.empty()) return {};
    const auto answer = send_to(service, fetcher, [&] {
      HttpCall call = service.list_unfinished(key, found);
      call.patience = kPatienceToLook;
      return call;
    });
    if (!answer.ok() || !answer->is_success()) return {};
    if (!service.parse_unfinished(key, *answer, &found).ok()) return {};
  }
  return found;
}

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
  std::vector<HttpCall> calls = service_->remove_parts(upload_, end_);
  for (HttpCall& call : calls) call.patience = kPatienceToRemove;
  static_cast<void>(send_all(*fetcher_, std::move(calls)));
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
    HR_CHECK(join_parts());
  }
  const auto whole = std::make_shared<const std::string>(std::move(buffer_));
  for (int tries = 1;; ++tries) {
    HR_TRY(const HttpResponse answer, begun_ ? complete(if_absent) : put(whole, if_absent));
    if (answer.is_success()) break;
    if (if_absent && answer.status == 412) return false;
    const bool again = answer.status == kConflict || answer.status >= 500;
    if (!again || tries == kMostTries) return failure(answer);
    std::this_thread::sleep_for(kBetweenTries);
  }
  end_ = UploadEnd::kCompleted;
  return true;
}

Result<HttpResponse> UploadSink::put(const std::shared_ptr<const std::string>& body,
                                     bool if_absent) {
  return send_to(*service_, *fetcher_, [&] { return service_->put(upload_.key, body, if_absent); });
}

// If the answer to a completion is lost, the second attempt finds no upload: it has become the
// object. Or another writer of the same bytes has taken it up and completed it.
Result<HttpResponse> UploadSink::complete(bool if_absent) {
  HR_TRY(HttpResponse answer, send_to(*service_, *fetcher_, [&] {
           return service_->complete_upload(upload_, if_absent);
         }));
  if (service_->is_lost(answer) && is_ours()) answer.status = 200;
  return answer;
}

// Whoever began an upload with an id may still be writing it, maybe other bytes: it is taken up if
// it begins as ours does.
Status UploadSink::begin() {
  Unfinished found = find_unfinished(*service_, *fetcher_, upload_.key);
  held_ = std::move(found.parts);
  upload_.id = std::move(found.id);
  if (!upload_.id.empty() &&
      find_held(service_->part_name(upload_, 0, as_bytes(buffer_))) == held_.end()) {
    held_.clear();
    upload_.id.clear();
  }
  resumes_ = !held_.empty();
  if (upload_.id.empty()) HR_CHECK(ask_for_id());
  begun_ = true;
  return {};
}

Status UploadSink::ask_for_id() {
  HttpResponse answer;
  if (!service_->begin_upload(upload_.key).request.method.empty()) {
    HR_TRY(answer,
           send_to(*service_, *fetcher_, [&] { return service_->begin_upload(upload_.key); }));
    if (!answer.is_success()) return service_->error("write", name_, answer);
  }
  HR_TRY(upload_.id, service_->parse_upload(answer));
  return {};
}

// Of the part in the buffer.
UploadSink::Held::iterator UploadSink::find_held(const std::string& name) {
  if (held_.empty()) return held_.end();
  const auto found = held_.find(service_->proof(name, as_bytes(buffer_)));
  const bool equal = found != held_.end() && found->second.bytes == buffer_.size();
  return equal ? found : held_.end();
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
  std::string name = service_->part_name(upload_, number, as_bytes(buffer_));
  bytes_ += buffer_.size();
  if (const auto held = find_held(name); held != held_.end()) {
    buffer_.clear();
    add_part(std::move(held->second.mark), 0);
    held_.erase(held);  // one part for one place
    return {};
  }
  HR_CHECK(wait_for(kMostAtOnce - 1));
  HR_CHECK(service_->ready());
  const auto body = std::make_shared<const std::string>(std::move(buffer_));
  buffer_ = {};
  buffer_.reserve(limits_.part_bytes);
  add_part(name, 1);
  start_part({number, std::move(name), body}, true);
  return {};
}

void UploadSink::add_part(std::string mark, size_t in_flight) {
  const std::lock_guard lock(mutex_);
  upload_.parts.push_back(std::move(mark));
  in_flight_ += in_flight;
}

void UploadSink::start_part(const Part& part, bool again) {
  fetcher_->start(service_->put_part(upload_, part.name, part.body),
                  [this, part, again](Result<HttpResponse> answer) {
                    part_done(part, again, std::move(answer));
                  });
}

// On the fetcher's thread.
void UploadSink::part_done(const Part& part, bool again, Result<HttpResponse> answer) {
  if (again && answer.ok() && !answer->is_success() && service_->recover(*answer))
    return start_part(part, false);
  const std::lock_guard lock(mutex_);
  if (!answer.ok())
    failed_ = std::move(answer).error();
  else if (!answer->is_success())
    failed_ = failure(*answer);
  else
    upload_.parts[part.number] = service_->part_mark(*answer, part.name);
  --in_flight_;
  changed_.notify_all();
}

Status UploadSink::join_parts() {
  for (;;) {
    std::vector<HttpCall> round = service_->join_parts(&upload_);
    if (round.empty()) return {};
    for (Result<HttpResponse>& answer : send_all(*fetcher_, std::move(round))) {
      HR_TRY(const HttpResponse joined, std::move(answer));
      if (!joined.is_success()) return failure(joined);
    }
  }
}

Error UploadSink::failure(const HttpResponse& answer) {
  if (!begun_ || !service_->is_lost(answer)) {
    Error error = service_->error("write", name_, answer);
    if (resumes_ && error.hint.empty()) error.hint = kAgain;  // a part is not replaced everywhere
    return error;
  }
  // What we began may be another writer's by now. What we took up and cannot complete is removed,
  // so that the next one begins anew.
  if (!resumes_) end_ = UploadEnd::kLost;
  return {.code = Code::kChanged,
          .message = "the upload of this object is gone, or is not as it was sent",
          .origin = {.shard = name_},
          .hint = std::string("Another writer may have ended it. ") + kAgain};
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
