#include "format/frame_scan.h"

#include <algorithm>
#include <vector>

#include "base/try.h"
#include "format/lz4_blocks.h"
#include "format/unpacker.h"

namespace headrace {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr size_t kOutBytes = size_t{1} << 20;

class Scan {
 public:
  Scan(Encoding encoding, uint64_t object_size, const ReadAt& read)
      : encoding_(encoding), object_size_(object_size), read_(read) {}

  Result<FrameMap> run() {
    if (object_size_ == 0)
      return Error{.code = Code::kCorrupt, .message = "an empty object holds no archive"};
    std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, object_size_));
    while (at_ < object_size_) {
      const auto part =
          MutableBytes(piece).first(std::min<uint64_t>(piece.size(), object_size_ - at_));
      HR_CHECK(read_(at_, part));
      HR_CHECK(feed(part));
    }
    if (unpacker_->is_between_frames()) return std::move(map_);
    return Error{.code = Code::kCorrupt,
                 .message = "the compressed data was cut off: its end is missing",
                 .origin = {.offset = object_size_},
                 .hint = "Copy it again from where it came from."};
  }

 private:
  Status feed(ByteView piece) {
    for (;;) {
      auto step = unpacker_->step(piece, out_);
      if (!step.ok()) return std::move(step).error().at({.offset = at_});
      piece = piece.subspan(step->taken);
      at_ += step->taken;
      frame_.decoded_size += step->made;
      if (frame_.decoded_size > kLargestFrame && encoding_ != Encoding::kLz4) return too_large();
      if (step->ends_frame) HR_CHECK(end_frame());
      if (piece.empty() && step->made == 0) return {};
      if (step->taken == 0 && step->made == 0 && !step->ends_frame) return stuck();
    }
  }

  Status end_frame() {
    frame_.encoded_size = at_ - frame_.encoded_offset;
    frame_.encoding = encoding_;
    const Frame frame = frame_;
    frame_ = {.encoded_offset = at_};
    if (frame.decoded_size == 0) return {};
    if (encoding_ == Encoding::kLz4 && frame.decoded_size > kWholeLz4Frame) {
      HR_TRY(const bool cut, add_lz4_blocks(frame, read_, map_));
      if (cut) return {};
      if (frame.decoded_size > kLargestFrame) return too_large();
    }
    map_.add(frame);
    return {};
  }

  Error too_large() const {
    return {.code = Code::kUsage,
            .message =
                "this archive can only be read from front to back: it is compressed as one "
                "stream of more than 128 MiB, so no sample can be reached by itself",
            .origin = {.offset = frame_.encoded_offset},
            .hint = "Decompress it (gzip -dc, zstd -dc, lz4 -dc) to a plain tar and take that."};
  }

  Error stuck() const {
    return {.code = Code::kCorrupt,
            .message = "the compressed data does not go on",
            .origin = {.offset = at_}};
  }

  const Encoding encoding_;
  const uint64_t object_size_;
  const ReadAt& read_;
  const std::unique_ptr<Unpacker> unpacker_ = Unpacker::make(encoding_);
  std::vector<std::byte> out_ = std::vector<std::byte>(kOutBytes);
  uint64_t at_ = 0;
  Frame frame_;  // under way
  FrameMap map_;
};

}  // namespace

Result<FrameMap> scan_frames(Encoding encoding, uint64_t object_size, const ReadAt& read) {
  return Scan(encoding, object_size, read).run();
}

}  // namespace headrace
