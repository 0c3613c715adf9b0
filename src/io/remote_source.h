// Reading an object of a remote store: what is the same for all of them. The store says how one
// range is asked for (RemoteObject); here the object is pinned, large reads are cut into parts that
// come in parallel, and answers become bytes or errors.
//
// Pinning: the first answer's version and size belong to the object from then on. An answer with
// others is Code::kChanged, so bytes of two versions never mix.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "headrace/store.h"
#include "io/http/fetcher.h"

namespace headrace {

/// How a store reads one object. Thread-safe.
class RemoteObject {
 public:
  virtual ~RemoteObject() = default;

  /// The object's URL as users write it.
  virtual const std::string& name() const = 0;
  /// A GET of the whole object, signer and redirects included. The range, the memory, the deadline
  /// and the check are put on by RemoteSource. `pinned` (a version() of before; may be empty) may
  /// become an If-Match.
  virtual HttpCall get(const std::string& pinned) const = 0;
  /// What tells these bytes from others in an answer, as the ETag does; "" if nothing does.
  virtual std::string version(const HttpResponse& answer) const { return answer.etag(); }
  /// Called after each good answer, for stores that remember where an object was found.
  virtual void found_at(const Url&) const {}
  /// Called with an answer that is an error. True: the store has changed what get() gives (a
  /// remembered place, a signed URL, a token), and the read is to be tried once more.
  virtual bool recover(const HttpResponse&) const { return false; }
  /// An answer that is an error, as one of ours; services whose error bodies echo what the client
  /// sent (S3 does, keys and signatures too) choose what of it is shown.
  virtual Error error(const HttpResponse& answer) const {
    return http_error("read", name(), answer);
  }
};

/// "the object changed while it was being read: HOW", Code::kChanged.
Error object_changed(const std::string& object, const std::string& how);

/// Which version and size an object has, as it was found or as the first answer says. Thread-safe.
class ObjectPin {
 public:
  ObjectPin(std::optional<uint64_t> bytes, std::string version);

  std::optional<uint64_t> bytes() const { return bytes_; }
  std::string version() const;
  /// Code::kChanged: the answer is of another version or size.
  Status check(const RemoteObject& object, const HttpResponse& answer);
  bool is_known() const;

 private:
  const std::optional<uint64_t> bytes_;
  mutable std::mutex mutex_;
  std::string version_;
  bool known_;
};

class RemoteSource : public ByteSource {
 public:
  /// Without `bytes` and `version`, the first answer tells them; size() needs `bytes`.
  RemoteSource(std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const RemoteObject> object,
               uint64_t bytes, std::string version = "");
  /// With a pin, which knows the size, that others read by too.
  RemoteSource(std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const RemoteObject> object,
               std::shared_ptr<ObjectPin> pin);

  const std::string& name() const override { return object_->name(); }
  uint64_t size() const override { return bytes_; }
  Status read_at(uint64_t offset, MutableBytes into) const override;
  void will_need(uint64_t, uint64_t) const override {}
  bool is_remote() const override { return true; }
  void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                  const Done& done) const override;
  /// Asks for the first byte if no answer has told the version yet.
  std::string identity() const override;
  /// Code::kCorrupt: the object ends before this range does.
  Status check(uint64_t offset, uint64_t size) const;

 protected:
  /// A read that begins when it is called, on any thread: it does not need this source any more.
  /// Precondition: check() found the range good.
  std::function<void()> later_read(uint64_t offset, MutableBytes into, Deadline deadline,
                                   Done done) const;

 private:
  class Read;

  const std::shared_ptr<Fetcher> fetcher_;
  const std::shared_ptr<const RemoteObject> object_;
  const uint64_t bytes_;
  const std::shared_ptr<ObjectPin> pin_;
};

/// ByteSource::read_at() of sources whose start_read() is what reads. Not on the fetcher's thread.
Status read_waiting(const ByteSource& source, uint64_t offset, MutableBytes into);

/// ByteSource::identity() of an object, from its URL and what tells its version; "" if nothing
/// does.
std::string object_identity(const std::string& name, const std::string& version, uint64_t bytes);

/// The source of an object that a HEAD has found: `answer` pins its size and version.
Result<std::unique_ptr<ByteSource>> open_remote(std::shared_ptr<Fetcher> fetcher,
                                                std::shared_ptr<const RemoteObject> object,
                                                const HttpResponse& answer);

/// The whole object in one request, without knowing its size. `version`, if given, becomes the
/// answer's.
Result<std::string> read_remote(Fetcher& fetcher, const RemoteObject& object,
                                std::string* version = nullptr);

}  // namespace headrace
