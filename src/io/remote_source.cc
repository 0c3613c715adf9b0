#include "io/remote_source.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

#include "base/try.h"

namespace headrace {
namespace {

/// Larger reads come in parts, in parallel: one connection alone seldom fills a link.
constexpr uint64_t kPartBytes = uint64_t{8} << 20;

}  // namespace

Error object_changed(const std::string& object, const std::string& how) {
  return {.code = Code::kChanged,
          .message = "the object changed while it was being read: " + how,
          .origin = {.shard = object},
          .hint = "Open the data set again; if it has a manifest, index it anew."};
}

ObjectPin::ObjectPin(std::optional<uint64_t> bytes, std::string version)
    : bytes_(bytes), version_(std::move(version)), known_(!version_.empty()) {}

std::string ObjectPin::version() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

bool ObjectPin::is_known() const {
  const std::scoped_lock lock(mutex_);
  return known_;
}

Status ObjectPin::check(const RemoteObject& object, const HttpResponse& answer) {
  if (const auto total = answer.total_bytes(); total && bytes_ && *total != *bytes_)
    return object_changed(object.name(), "it had " + std::to_string(*bytes_) + " bytes and has " +
                                             std::to_string(*total) + " now");
  const std::string now = object.version(answer);
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(known_, true) && version_.empty()) version_ = now;
  if (now == version_) return {};
  return object_changed(object.name(),
                        "its version was '" + version_ + "' and is '" + now + "' now");
}

/// One read on its way: its parts, of which the last to come calls `done`.
class RemoteSource::Read : public std::enable_shared_from_this<Read> {
 public:
  Read(const RemoteSource& source, uint64_t offset, MutableBytes into, Deadline deadline, Done done)
      : fetcher_(*source.fetcher_),
        object_(source.object_),
        pin_(source.pin_),
        offset_(offset),
        into_(into),
        deadline_(deadline),
        done_(std::move(done)),
        parts_left_((into.size() + kPartBytes - 1) / kPartBytes) {}

  void start() {
    for (uint64_t at = 0; at < into_.size(); at += kPartBytes) ask(at, false);
  }

 private:
  void ask(uint64_t at, bool again) {
    HttpCall call = object_->get(pin_->version());
    call.request.into = into_.subspan(at, std::min<uint64_t>(kPartBytes, into_.size() - at));
    const uint64_t first = offset_ + at;
    call.request.range = {first, first + call.request.into.size() - 1};
    call.object = object_->name();
    call.deadline = deadline_;
    call.check = [self = shared_from_this()](const HttpResponse& answer) {
      return self->pin_->check(*self->object_, answer);
    };
    fetcher_.start(std::move(call),
                   [self = shared_from_this(), at, again](Result<HttpResponse> answer) {
                     self->answered(at, again, std::move(answer));
                   });
  }

  void answered(uint64_t at, bool again, Result<HttpResponse> answer) {
    if (!answer.ok()) return part_done(std::move(answer).error().at({.offset = offset_ + at}));
    if (answer->is_success()) {
      object_->found_at(answer->url);
      return part_done({});
    }
    if (!again && object_->recover(*answer)) return ask(at, true);
    part_done(refusal(*answer).at({.offset = offset_ + at}));
  }

  Error refusal(const HttpResponse& answer) const {
    if (answer.status == 412) return object_changed(object_->name(), "the server says so (412)");
    if (answer.status == 416)
      return object_changed(object_->name(), "it ends before the bytes that were asked for (416)");
    return object_->error(answer);
  }

  void part_done(Status status) {
    {
      std::scoped_lock lock(mutex_);
      if (!status.ok() && status_.ok()) status_ = std::move(status);
      if (--parts_left_ > 0) return;
    }
    done_(std::move(status_));
  }

  Fetcher& fetcher_;  // ends this read before it ends; it must not end on its own thread
  const std::shared_ptr<const RemoteObject> object_;
  const std::shared_ptr<ObjectPin> pin_;
  const uint64_t offset_;
  const MutableBytes into_;
  const Deadline deadline_;
  const Done done_;
  std::mutex mutex_;
  uint64_t parts_left_;
  Status status_;  // the first error
};

RemoteSource::RemoteSource(std::shared_ptr<Fetcher> fetcher,
                           std::shared_ptr<const RemoteObject> object, uint64_t bytes,
                           std::string version)
    : RemoteSource(std::move(fetcher), std::move(object),
                   std::make_shared<ObjectPin>(bytes, std::move(version))) {}

RemoteSource::RemoteSource(std::shared_ptr<Fetcher> fetcher,
                           std::shared_ptr<const RemoteObject> object,
                           std::shared_ptr<ObjectPin> pin)
    : fetcher_(std::move(fetcher)),
      object_(std::move(object)),
      bytes_(pin->bytes().value()),
      pin_(std::move(pin)) {}

Status RemoteSource::check(uint64_t offset, uint64_t size) const {
  if (offset <= bytes_ && size <= bytes_ - offset) return {};
  return Error{.code = Code::kCorrupt,
               .message = "the object has " + std::to_string(bytes_) +
                          " bytes and ends before the bytes asked for",
               .origin = {.shard = name(), .offset = offset}};
}

Status read_waiting(const ByteSource& source, uint64_t offset, MutableBytes into) {
  std::promise<Status> promise;
  auto answer = promise.get_future();
  source.start_read(offset, into, kNow,
                    [&](Status status) { promise.set_value(std::move(status)); });
  return answer.get();
}

Status RemoteSource::read_at(uint64_t offset, MutableBytes into) const {
  return read_waiting(*this, offset, into);
}

void RemoteSource::start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                              const Done& done) const {
  if (Status status = check(offset, into.size()); !status.ok() || into.empty())
    return done(std::move(status));
  later_read(offset, into, deadline, done)();
}

std::function<void()> RemoteSource::later_read(uint64_t offset, MutableBytes into,
                                               Deadline deadline, Done done) const {
  return [fetcher = fetcher_, read = std::make_shared<Read>(*this, offset, into, deadline,
                                                            std::move(done))] { read->start(); };
}

std::string RemoteSource::identity() const {
  std::byte first{};
  if (!pin_->is_known() && bytes_ > 0 && !read_at(0, {&first, 1}).ok()) return "";
  return object_identity(name(), pin_->version(), bytes_);
}

std::string object_identity(const std::string& name, const std::string& version, uint64_t bytes) {
  if (version.empty()) return "";
  return name + "\n" + version + "\n" + std::to_string(bytes);
}

Result<std::unique_ptr<ByteSource>> open_remote(std::shared_ptr<Fetcher> fetcher,
                                                std::shared_ptr<const RemoteObject> object,
                                                const HttpResponse& answer) {
  const auto bytes = answer.total_bytes();
  if (!bytes)
    return Error{.code = Code::kUsage,
                 .message = "the server does not say how long the object is",
                 .origin = {.shard = object->name()},
                 .hint = "It cannot be read by ranges; copy it first."};
  std::string version = object->version(answer);
  return std::unique_ptr<ByteSource>(std::make_unique<RemoteSource>(
      std::move(fetcher), std::move(object), *bytes, std::move(version)));
}

Result<std::string> read_remote(Fetcher& fetcher, const RemoteObject& object,
                                std::string* version) {
  for (bool again = false;; again = true) {
    HttpCall call = object.get("");
    call.object = object.name();
    HR_TRY(HttpResponse answer, fetcher.send(std::move(call)));
    if (answer.is_success()) {
      object.found_at(answer.url);
      if (version != nullptr) *version = object.version(answer);
      return std::move(answer.body);
    }
    if (again || !object.recover(answer)) return object.error(answer);
  }
}

}  // namespace headrace
