#include "io/hf/hf_source.h"

namespace headrace {
namespace {

constexpr unsigned kMostRedirects = 5;

}  // namespace

HfObject::HfObject(std::shared_ptr<HfRepository> repository, std::string path, const HfFile& file)
    : repository_(std::move(repository)),
      path_(std::move(path)),
      name_(repository_->location().name() + "/" + path_),
      etag_(file.etag()) {}

HttpCall HfObject::get(const std::string&) const {
  const auto place = repository_->places().find(etag_);
  HttpCall call = repository_->call("GET", place ? *place : repository_->resolve(path_));
  call.object = name_;
  call.redirects = kMostRedirects;
  call.again = [repository = repository_, etag = etag_, resolve = repository_->resolve(path_)](
                   Url& url, const HttpResponse* answer, bool usual) {
    const bool refused = answer != nullptr && (answer->status == 400 || answer->status == 401 ||
                                               answer->status == 403 || answer->status == 404);
    if (!refused || url.same_origin(resolve)) return usual;
    repository->places().forget(etag);  // the signature is over
    url = resolve;
    return true;
  };
  return call;
}

void HfObject::found_at(const Url& url) const {
  if (url != repository_->resolve(path_)) repository_->places().found(etag_, url);
}

Error HfObject::error(const HttpResponse& answer) const {
  return repository_->error("read", name_, answer);
}

HfSource::HfSource(std::shared_ptr<HfRepository> repository, std::string path, const HfFile& file)
    : RemoteSource(repository->fetcher(),
                   std::make_shared<HfObject>(repository, std::move(path), file), file.bytes,
                   file.etag()),
      repository_(std::move(repository)),
      etag_(file.etag()) {}

void HfSource::start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                          const Done& done) const {
  const auto read = [=, this](const Done& then) {
    RemoteSource::start_read(offset, into, deadline, then);
  };
  if (into.empty() || repository_->places().find(etag_)) return read(done);
  // The first read finds the place on its way, and the others of that moment wait for it.
  if (!repository_->places().begin_search(etag_, [=] { read(done); })) return;
  read([repository = repository_, etag = etag_, done](Status status) {
    repository->places().end_search(etag);
    done(std::move(status));
  });
}

}  // namespace headrace
