#include "cli/tar_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/try.h"

namespace headrace::cli {
namespace {

// The parser wants a size; a stream has none, so its end is seen by reading instead.
constexpr uint64_t kUnknownSize = uint64_t{1} << 62;

/// Rising ranges of a descriptor that cannot seek.
class Stream {
 public:
  explicit Stream(int descriptor) : descriptor_(descriptor), buffer_(1 << 20) {}

  /// Reads on until `offset` is the next byte; false if the stream ends before.
  Result<bool> skip_to(uint64_t offset) {
    while (offset > at_) {
      if (begin_ == end_) {
        HR_TRY(const bool more, refill());
        if (!more) return false;
      }
      const uint64_t step = std::min<uint64_t>(offset - at_, end_ - begin_);
      begin_ += step;
      at_ += step;
    }
    return true;
  }

  /// The next `size` bytes, or fewer at the end of the stream.
  Result<ByteView> take(uint64_t size) {
    taken_.clear();
    while (taken_.size() < size) {
      if (begin_ == end_) {
        HR_TRY(const bool more, refill());
        if (!more) break;
      }
      const uint64_t step = std::min<uint64_t>(size - taken_.size(), end_ - begin_);
      const auto from = buffer_.begin() + static_cast<ptrdiff_t>(begin_);
      taken_.insert(taken_.end(), from, from + static_cast<ptrdiff_t>(step));
      begin_ += step;
      at_ += step;
    }
    return ByteView(taken_);
  }

  uint64_t at() const { return at_; }

 private:
  Result<bool> refill() {
    for (;;) {
      const ssize_t count = ::read(descriptor_, buffer_.data(), buffer_.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0)
        return Error{.message = std::string("cannot read standard input: ") + std::strerror(errno)};
      begin_ = 0;
      end_ = static_cast<uint64_t>(count);
      return count > 0;
    }
  }

  const int descriptor_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> taken_;
  uint64_t begin_ = 0, end_ = 0;  // what is left in the buffer
  uint64_t at_ = 0;               // offset in the stream of buffer_[begin_]
};

Error cut(uint64_t at, const std::string& member) {
  return {.code = Code::kCorrupt,
          .message = "the stream ends inside a member",
          .origin = {.shard = "-", .member = member, .offset = at},
          .hint = "It was cut off: send it again."};
}

}  // namespace

Status stream_tar(int descriptor, const std::function<Result<bool>(const TarMember&)>& on_member) {
  Stream stream(descriptor);
  TarParser parser(kUnknownSize);
  std::string last;
  ByteView fed;
  for (;;) {
    auto step = parser.step(fed);
    if (!step.ok()) return std::move(step).error().at({.shard = "-"});
    fed = {};
    if (*step == TarStep::kEnd) return {};
    if (*step == TarStep::kMember) {
      HR_TRY(const bool more, on_member(parser.member()));
      if (!more) return {};
      last = parser.member().name;
      continue;
    }
    const auto [offset, size] = parser.wanted();
    HR_TRY(const bool there, stream.skip_to(offset));
    if (!there) return cut(stream.at(), last);
    HR_TRY(fed, stream.take(size));
    if (fed.empty() && stream.at() == 0) return cut(0, "");
    if (fed.empty()) return {};
    if (fed.size() < size) return cut(stream.at(), "");
  }
}

Status TarSamples::add(const TarMember& member) {
  if (member.type != TarType::kRegular) return {};
  HR_TRY(const bool taken, rule_.split(member.name, name_));
  if (!taken) return {};
  if (sample_.size() == 0 || name_.key != key_) {
    finish();
    sample_.add_sample(name_.key, member.header_offset);
    std::swap(key_, name_.key);
  }
  sample_.add_member(name_.field, member.data_offset, member.size);
  sample_.end_sample(member.end_offset);
  return {};
}

void TarSamples::finish() {
  if (sample_.size() == 1) show_(sample_.index());
  sample_ = {};
}

}  // namespace headrace::cli
