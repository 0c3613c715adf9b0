#include "io/cache/cached_source.h"

#include "io/leavable_read.h"
#include "io/remote_source.h"

namespace headrace {
namespace {

Error past_end(const ByteSource& source, uint64_t offset) {
  return {.code = Code::kCorrupt,
          .message = "the object ends before the bytes asked for",
          .origin = {.shard = source.name(), .offset = offset}};
}

}  // namespace

CachedSource::CachedSource(std::shared_ptr<NodeCache> cache,
                           std::shared_ptr<const CacheLease> lease,
                           std::unique_ptr<ByteSource> inner, std::string path, EntryHeader header)
    : cache_(std::move(cache)),
      lease_(std::move(lease)),
      inner_(std::move(inner)),
      path_(std::move(path)),
      header_(std::move(header)) {}

CachedSource::~CachedSource() {
  if (const auto* mine = reads_.find(); mine != nullptr && *mine) (*mine)->close();
}

CachedReads* CachedSource::reads() const {
  const auto& mine = reads_.get([this] {
    auto file = CacheFile::open(path_, header_);
    if (!file.ok()) cache_->report(file.error());
    return std::make_unique<std::shared_ptr<CachedReads>>(
        file.ok() ? std::make_shared<CachedReads>(cache_, inner_, std::move(file).value())
                  : nullptr);
  });
  return mine.get();
}

bool CachedSource::is_remote() const {
  const CachedReads* mine = reads();
  return mine == nullptr || !mine->is_complete();
}

void CachedSource::will_need(uint64_t offset, uint64_t size) const {
  if (const CachedReads* mine = reads(); mine != nullptr && mine->is_complete())
    mine->will_need(offset, size);
}

Status CachedSource::read_at(uint64_t offset, MutableBytes into) const {
  if (offset > size() || into.size() > size() - offset) return past_end(*inner_, offset);
  CachedReads* mine = reads();
  if (mine == nullptr) {
    cache_->streamed_bytes_ += into.size();
    return inner_->read_at(offset, into);
  }
  const uint64_t got = mine->read_present(offset, into);
  if (got == into.size()) return {};
  return read_waiting(*this, offset + got, into.subspan(got));
}

void CachedSource::start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                              const Done& done) const {
  if (offset > size() || into.size() > size() - offset) return done(past_end(*inner_, offset));
  if (CachedReads* mine = reads()) {
    const LeavableRead read = leavable_read(name(), into, deadline, done);
    return mine->start(offset, read.into, deadline, read.done);
  }
  cache_->streamed_bytes_ += into.size();
  inner_->start_read(offset, into, deadline, done);
}

}  // namespace headrace
