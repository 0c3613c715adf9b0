// Reads an object for somebody else and takes its XXH3 on the way, so that it is read once.
// Thread-safety: one thread at a time. The source outlives it.
#pragma once

#include <algorithm>
#include <memory>

#include "base/digest.h"
#include "base/try.h"
#include "headrace/store.h"
#include "job/progress.h"

namespace headrace {

class HashedReads {
 public:
  HashedReads(const ByteSource& source, Progress& progress)
      : source_(source), progress_(progress) {}

  /// Any range; what follows the bytes hashed before is hashed.
  Status read(uint64_t offset, MutableBytes into) {
    if (progress_.stopped()) return Progress::interrupted();
    HR_CHECK(source_.read_at(offset, into));
    if (offset > at_ || offset + into.size() <= at_) return {};
    const MutableBytes fresh = into.subspan(at_ - offset);
    hash_.update(fresh);
    at_ += fresh.size();
    progress_.bytes += fresh.size();
    return {};
  }

  /// The digest of the whole object; reads what nobody has read.
  Result<uint64_t> finish() {
    constexpr size_t kPiece = size_t{1} << 20;
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kPiece);
    while (at_ < source_.size())
      HR_CHECK(read(at_, {buffer.get(), std::min<uint64_t>(kPiece, source_.size() - at_)}));
    return hash_.digest();
  }

 private:
  const ByteSource& source_;
  Progress& progress_;
  Xxh3Stream hash_;
  uint64_t at_ = 0;
};

}  // namespace headrace
