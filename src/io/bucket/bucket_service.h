// What one kind of bucket (S3, Google, Azure) calls the operations that every kind has. The store,
// its listings and uploads are the same for all of them and stand on this.
//
// Calls are descriptions: nothing is sent here, and each call is made anew for a second attempt,
// because recover() may have changed where it goes.
// Thread-safe.
#pragma once

#include <chrono>
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
  std::vector<std::string> parts = {};  ///< what each part's answer is remembered by
};

struct UploadLimits {
  uint64_t part_bytes = 8 << 20;  ///< also the largest object that is put in one request
  uint64_t most_parts = 10'000;
};

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
  /// Asks for Upload::id. With an empty method: nothing has to be asked.
  virtual HttpCall begin_upload(const std::string& key) const = 0;
  virtual Result<std::string> parse_upload(const HttpResponse& answer) const = 0;
  /// `number` counts from 0. `body` is the part.
  virtual HttpCall put_part(const Upload& upload, size_t number,
                            const std::shared_ptr<const std::string>& body) const = 0;
  /// What Upload::parts keeps of a part.
  virtual std::string part_mark(const HttpResponse& answer, size_t number) const = 0;
  virtual HttpCall complete_upload(const Upload& upload, bool if_absent) const = 0;
  /// A successful answer whose body says that it is none, as one with the status it should have
  /// had.
  virtual HttpResponse truth(HttpResponse answer) const { return answer; }
  /// What removes the parts of an upload that was given up, or is complete; nothing where the
  /// service forgets them by itself.
  virtual std::vector<HttpCall> remove_parts(const Upload& upload, bool completed) const = 0;
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

}  // namespace headrace
