#include "io/bucket/bucket_store.h"

#include "base/try.h"
#include "io/bucket/listing.h"
#include "io/bucket/upload_sink.h"
#include "io/remote_source.h"

namespace headrace {
namespace {

class BucketObject : public RemoteObject {
 public:
  BucketObject(std::shared_ptr<const BucketService> service, std::string key)
      : service_(std::move(service)), key_(std::move(key)), name_(service_->name() + "/" + key_) {}

  const std::string& name() const override { return name_; }
  HttpCall get(const std::string& pinned) const override {
    HttpCall call = service_->object("GET", key_);
    if (!pinned.empty()) service_->pin(call.request, pinned);
    return call;
  }
  std::string version(const HttpResponse& answer) const override {
    return service_->version(answer);
  }
  void found_at(const Url& url) const override { service_->found(key_, url); }
  bool recover(const HttpResponse& answer) const override { return service_->recover(answer); }
  Error error(const HttpResponse& answer) const override {
    return service_->error("read", name_, answer);
  }

 private:
  const std::shared_ptr<const BucketService> service_;
  const std::string key_;
  const std::string name_;
};

std::string_view without_slashes(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<BucketLocation> BucketLocation::parse(const std::string& location) {
  std::string_view rest(location);
  rest.remove_prefix(std::min(rest.find(':') + 1, rest.size()));
  if (rest.starts_with("//")) rest.remove_prefix(2);
  const size_t slash = std::min(rest.find('/'), rest.size());
  BucketLocation parsed{std::string(rest.substr(0, slash)),
                        std::string(without_slashes(rest.substr(slash)))};
  if (!parsed.bucket.empty()) return parsed;
  return Error{.code = Code::kUsage,
               .message = "the location names no bucket",
               .origin = {.shard = location},
               .hint = "Write it as SCHEME://BUCKET/PREFIX."};
}

BucketStore::BucketStore(std::shared_ptr<Fetcher> fetcher,
                         std::shared_ptr<const BucketService> service, std::string prefix)
    : fetcher_(std::move(fetcher)),
      service_(std::move(service)),
      prefix_(std::move(prefix)),
      name_(service_->name() + (prefix_.empty() ? "" : "/" + prefix_)) {}

std::string BucketStore::key(const std::string& path) const {
  return prefix_.empty() ? path : prefix_ + "/" + path;
}

Result<HttpResponse> BucketStore::head(const std::string& key) const {
  return send_to(*service_, *fetcher_, [&] { return service_->object("HEAD", key); });
}

Result<std::unique_ptr<ByteSource>> BucketStore::open(const std::string& path) const {
  auto object = std::make_shared<const BucketObject>(service_, key(path));
  HR_TRY(const HttpResponse answer, head(key(path)));
  if (!answer.is_success()) return service_->error("open", object->name(), answer);
  return open_remote(fetcher_, std::move(object), answer);
}

Result<std::unique_ptr<ByteSource>> BucketStore::open_known(const std::string& path,
                                                            uint64_t bytes) const {
  HR_CHECK(service_->ready());
  return std::unique_ptr<ByteSource>(std::make_unique<RemoteSource>(
      fetcher_, std::make_shared<const BucketObject>(service_, key(path)), bytes));
}

Result<std::string> BucketStore::read(const std::string& path) const {
  HR_CHECK(service_->ready());
  return read_remote(*fetcher_, BucketObject(service_, key(path)));
}

Result<bool> BucketStore::exists(const std::string& path) const {
  HR_TRY(const HttpResponse answer, head(key(path)));
  if (answer.is_success()) return true;
  if (answer.status == 404) return false;
  return service_->error("look up", service_->name() + "/" + key(path), answer);
}

Result<std::vector<StoreEntry>> BucketStore::list(const std::string& prefix) const {
  std::string above = key(prefix);
  if (!above.empty() && !above.ends_with('/')) above += '/';
  HR_TRY(auto entries, list_bucket(*service_, *fetcher_, above));
  const size_t root = prefix_.empty() ? 0 : prefix_.size() + 1;
  for (StoreEntry& entry : entries) entry.path.erase(0, root);
  return entries;
}

Result<std::unique_ptr<ByteSink>> BucketStore::create(const std::string& path) {
  return std::unique_ptr<ByteSink>(std::make_unique<UploadSink>(fetcher_, service_, key(path)));
}

Status BucketStore::remove(const std::string& path) {
  HR_TRY(const HttpResponse answer,
         send_to(*service_, *fetcher_, [&] { return service_->object("DELETE", key(path)); }));
  if (answer.is_success() || answer.status == 404) return {};
  return service_->error("remove", service_->name() + "/" + key(path), answer);
}

}  // namespace headrace
