// What one kind of bucket (S3, Google, Azure) calls the operations that every kind has. The store,
// its listings and uploads are the same for all of them and stand on this.
//
// Calls are descriptions: nothing is sent here, and each call is made anew for a second attempt,
// because recover() may have changed where it goes.
// Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "io/http/fetcher.h"

namespace headrace {

/// One page of a listing is asked for by what it continues.
struct ListRequest {
  std::string prefix;
  bool by_folder = false;  ///< what is below a further '/' is summed up as a prefix
  std::string token = {};  ///< ListPage::next of the page before
};

struct ListedObject {
  std::string path;  ///< the whole key
  uint64_t bytes = 0;
  std::optional<std::chrono::system_clock::time_point> modified = std::nullopt;
  std::string version = {};  ///< as BucketService::version() has it; "": the listing does not tell
};

struct ListPage {
  std::vector<ListedObject> entries;
  std::vector<std::string> prefixes;
  std::string next;  ///< empty: this is the last page
};

/// An upload in parts.
struct Upload {
  std::string key;
  std::string id = {};                  ///< as the service named it
  std::vector<std::string> parts = {};  ///< what each part is remembered by
  std::vector<std::string> spent = {};  ///< parts that were joined into some of `parts`
};

enum class UploadEnd {
  kCompleted,
  kGivenUp,  ///< by us
  kLost,     ///< another writer of the key has ended it, or changed it
};

/// What a service still holds of uploads of one key that nobody completed.
struct Unfinished {
  struct Part {
    uint64_t bytes = 0;
    std::string mark;  ///< for Upload::parts
  };
  std::string id = {};                     ///< Upload::id of the one that has these parts, or ""
  std::map<std::string, Part> parts = {};  ///< by BucketService::proof()
  std::string next = {};                   ///< where the listing goes on
  bool is_whole = false;                   ///< there is no more to ask for
};

struct UploadLimits {
  uint64_t part_bytes = 8 << 20;  ///< also the largest object that is put in one request
  uint64_t most_parts = 10'000;
};

/// For operations that a service does not need: without a method, not to be sent.
HttpCall nothing_to_ask();

class BucketService {
 public:
  virtual ~BucketService() = default;

  /// "s3://bucket".
  virtual const std::string& name() const = 0;
  /// Waits until there are credentials. Never called on the fetcher's thread.
  virtual Status ready() const = 0;

  /// GET, HEAD or DELETE of an object.
  virtual HttpCall object(const char* method, const std::string& key) const = 0;
  /// Asks for the bytes of one version alone, where the service knows how.
  virtual void pin(HttpRequest& request, const std::string& version) const {
    request.headers.set("If-Match", "\"" + version + "\"");
  }
  /// What tells an object's bytes from others in an answer; "" if nothing does.
  virtual std::string version(const HttpResponse& answer) const { return answer.etag(); }
  /// An object's bytes came from there.
  virtual void found(const std::string& /*key*/, const Url&) const {}
  /// Puts a whole object. With `if_absent`, 409 and 412 mean that there is one already.
  virtual HttpCall put(const std::string& key, const std::shared_ptr<const std::string>& body,
                       bool if_absent) const = 0;

  virtual HttpCall list(const ListRequest& request) const = 0;
  virtual Result<ListPage> parse_list(const HttpResponse& answer) const = 0;

  virtual UploadLimits limits() const { return {}; }
  /// Asks for Upload::id, or nothing_to_ask().
  virtual HttpCall begin_upload(const std::string& key) const = 0;
  virtual Result<std::string> parse_upload(const HttpResponse& answer) const = 0;
  /// What the service is to call a part. `number` counts from 0.
  virtual std::string part_name(const Upload&, size_t number, ByteView /*body*/) const {
    return std::to_string(number + 1);
  }
  virtual HttpCall put_part(const Upload& upload, const std::string& name,
                            const std::shared_ptr<const std::string>& body) const = 0;
  /// What Upload::parts keeps of a part that was put.
  virtual std::string part_mark(const HttpResponse&, const std::string& name) const { return name; }

  /// Asks for what is held of the key, beyond what `found` has; or nothing_to_ask(), where the
  /// service does not tell.
  virtual HttpCall list_unfinished(const std::string& /*key*/, const Unfinished& /*found*/) const {
    return nothing_to_ask();
  }
  /// Adds it to `found`.
  virtual Status parse_unfinished(const std::string& /*key*/, const HttpResponse&,
                                  Unfinished* /*found*/) const {
    return {};
  }
  /// Two parts with one proof and as many bytes are equal, and can stand for each other. May digest
  /// the body.
  virtual std::string proof(const std::string& name, ByteView /*body*/) const { return name; }

  /// One round of making fewer parts, where a completion takes only so many: `upload` has them
  /// afterwards, once the calls have been answered. Nothing if a completion takes all.
  virtual std::vector<HttpCall> join_parts(Upload*) const { return {}; }
  virtual HttpCall complete_upload(const Upload& upload, bool if_absent) const = 0;
  /// Whether the answer to a part, a join or a completion says that what was sent is there no more:
  /// another writer of the key has ended the upload, or changed it.
  virtual bool is_lost(const HttpResponse& answer) const { return answer.status == 404; }
  /// A successful answer whose body says that it is none, as one with the status it should have
  /// had.
  virtual HttpResponse truth(HttpResponse answer) const { return answer; }
  /// What removes the parts of an upload that has ended; nothing where the service forgets them by
  /// itself, or they may be another writer's.
  virtual std::vector<HttpCall> remove_parts(const Upload& upload, UploadEnd end) const = 0;
  /// Whether an object with this ETag is what the upload's completion makes.
  virtual bool is_completed(const Upload&, const std::string& /*etag*/) const { return false; }

  /// Whether an answer tells how to do better (another region, the right time): once more, then.
  virtual bool recover(const HttpResponse& answer) const = 0;
  virtual Error error(std::string_view action, const std::string& object,
                      const HttpResponse& answer) const = 0;
  /// Whether the server is known to refuse a put where there is an object already. If not, the
  /// store looks before it puts, too.
  virtual bool refuses_second_put() const = 0;
};

/// Sends what `make` gives; once more if the service recovers from the answer. Answers that are
/// errors are answers here.
Result<HttpResponse> send_to(const BucketService& service, Fetcher& fetcher,
                             const std::function<HttpCall()>& make);
/// Sends all at once, as far as the host lets, and waits for all. The answers are in order.
std::vector<Result<HttpResponse>> send_all(Fetcher& fetcher, std::vector<HttpCall> calls);

}  // namespace headrace
