#include "io/hf/hf_source.h"

#include "base/stop_scope.h"
#include "io/leavable_read.h"

namespace headrace {
namespace {

constexpr unsigned kMostRedirects = 5;

}  // namespace

HfObject::HfObject(std::shared_ptr<HfRepository> repository, const std::string& path,
                   std::string etag)
    : repository_(std::move(repository)),
      resolve_(repository_->resolve(path)),
      name_(repository_->location().name() + "/" + path),
      etag_(std::move(etag)) {}

HttpCall HfObject::get(const std::string&) const {
  HttpCall call =
      repository_->call("GET", repository_->places().find(resolve_.path).value_or(resolve_));
  call.object = name_;
  call.redirects = kMostRedirects;
  call.again = [repository = repository_, resolve = resolve_](Url& url, const HttpResponse* answer,
                                                              bool usual) {
    const bool refused = answer != nullptr && (answer->status == 400 || answer->status == 401 ||
                                               answer->status == 403 || answer->status == 404);
    if (!refused || url.same_origin(resolve)) return usual;
    repository->places().forget(resolve.path);  // the signature is over
    url = resolve;
    return true;
  };
  return call;
}

void HfObject::found_at(const Url& url) const {
  if (url != resolve_) repository_->places().found(resolve_.path, url);
}

Error HfObject::error(const HttpResponse& answer) const {
  return repository_->error("read", name_, answer);
}

HfSource::HfSource(std::shared_ptr<HfRepository> repository, std::string path, const HfFile& file)
    : RemoteSource(repository->fetcher(), std::make_shared<HfObject>(repository, path, file.etag()),
                   file.bytes, file.etag()),
      repository_(std::move(repository)),
      listing_(repository_->listing()),
      path_(std::move(path)),
      place_(repository_->resolve(path_).path),
      etag_(file.etag()) {}

void HfSource::start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                          const Done& done) const {
  const bool is_known = repository_->places().find(place_).has_value();
  const Status status = check(offset, into.size());
  if (is_known || into.empty() || !status.ok())
    return RemoteSource::start_read(offset, into, deadline, done);
  // The first read finds the place on its way, and the others of that moment wait for it. Whether
  // that one is told to stop is nothing to them; and when one of them has left, this is gone.
  const LeavableRead read = leavable_read(name(), into, deadline, done);
  const auto after = [begin = later_read(offset, read.into, deadline, read.done),
                      stop = current_stop()] {
    const StopScope own(stop);
    begin();
  };
  if (!repository_->places().begin_search(place_, after)) return;
  const auto found = [repository = repository_, place = place_, done = read.done](Status status) {
    repository->places().end_search(place);
    done(std::move(status));
  };
  RemoteSource::start_read(offset, read.into, deadline, found);
}

std::string HfSource::identity() const {
  if (!etag_.empty()) return RemoteSource::identity();
  const auto file = listing_->find(path_);
  if (!file.ok() || !*file) return "";
  return object_identity(name(), (*file)->etag(), size());
}

}  // namespace headrace
