#include "format/tar_walk.h"

#include <algorithm>
#include <vector>

#include "base/try.h"

namespace headrace {
namespace {

/// Shows ranges of an object, rising offsets only, through a buffer of changing size.
class Window {
 public:
  Window(uint64_t object_size, const ReadAt& read) : object_size_(object_size), read_(read) {}

  Result<ByteView> get(const TarParser::Range& range) {
    if (range.offset + range.size > begin_ + held_) HR_CHECK(refill(range));
    ++hits_;
    return ByteView(buffer_).subspan(range.offset - begin_, range.size);
  }

 private:
  static constexpr uint64_t kSmallest = 4096;
  static constexpr uint64_t kLargest = 256 * 1024;
  // Above this distance of headers it is cheaper to ask for each than to read what lies between.
  static constexpr uint64_t kDense = 4096;

  Status refill(const TarParser::Range& range) {
    target_ =
        hits_ * kDense > held_ ? std::min(target_ * 2, kLargest) : std::max(target_ / 2, kSmallest);
    held_ = std::min(std::max(target_, range.size), object_size_ - range.offset);
    begin_ = range.offset;
    hits_ = 0;
    if (buffer_.size() < held_) buffer_.resize(held_);
    return read_(begin_, MutableBytes(buffer_).first(held_));
  }

  uint64_t object_size_;
  const ReadAt& read_;
  std::vector<std::byte> buffer_;
  uint64_t target_ = kSmallest;
  uint64_t begin_ = 0;
  uint64_t held_ = 0;
  uint64_t hits_ = 0;
};

template <typename Get>
Result<TarEnd> walk(uint64_t object_size, Get get, const OnMember& on_member) {
  TarParser parser(object_size);
  ByteView fed;
  for (;;) {
    HR_TRY(const TarStep step, parser.step(fed));
    fed = {};
    switch (step) {
      case TarStep::kRead: {
        HR_TRY(fed, get(parser.wanted()));
        break;
      }
      case TarStep::kMember:
        HR_CHECK(on_member(parser.member()));
        break;
      case TarStep::kEnd:
        return parser.end();
    }
  }
}

}  // namespace

Result<TarEnd> for_each_member(uint64_t object_size, const ReadAt& read,
                               const OnMember& on_member) {
  Window window(object_size, read);
  return walk(
      object_size, [&window](const TarParser::Range& range) { return window.get(range); },
      on_member);
}

Result<TarEnd> for_each_member(ByteView object, const OnMember& on_member) {
  return walk(
      object.size(),
      [object](const TarParser::Range& range) {
        return Result<ByteView>(object.subspan(range.offset, range.size));
      },
      on_member);
}

}  // namespace headrace
