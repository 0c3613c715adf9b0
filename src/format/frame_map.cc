#include "format/frame_map.h"

#include <algorithm>

#include "format/column.h"

namespace headrace {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 63;
constexpr Encoding kLastEncoding = Encoding::kRowGroup;

bool is_possible(const Frame& frame) {
  if (frame.encoding == Encoding::kStored) return frame.decoded_size == frame.encoded_size;
  return frame.encoding <= kLastEncoding && frame.decoded_size <= kLargestFrame;
}

}  // namespace

void FrameMap::add(Frame frame) {
  frame.decoded_offset = decoded_size();
  frames_.push_back(frame);
}

size_t FrameMap::at(uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(frames_, offset, {}, &Frame::decoded_offset);
  return static_cast<size_t>(behind - frames_.begin()) - 1;
}

bool FrameMap::is_stored() const {
  return std::ranges::all_of(
      frames_, [](Encoding e) { return e == Encoding::kStored; }, &Frame::encoding);
}

void FrameMap::append_columns(std::string& out) const {
  const auto column = [&](unsigned min_width, const auto& value) {
    std::vector<uint64_t> values;
    values.reserve(frames_.size());
    for (const Frame& frame : frames_) values.push_back(value(frame));
    append_column(out, values, min_width);
  };
  column(0, [](const Frame& f) { return static_cast<uint64_t>(f.encoding); });
  uint64_t end = 0;
  column(0, [&end](const Frame& f) {
    const uint64_t gap = f.encoded_offset - end;
    end = f.encoded_end();
    return gap;
  });
  column(1, [](const Frame& f) { return f.encoded_size; });
  column(0, [](const Frame& f) { return f.decoded_size; });
  column(0, [](const Frame& f) { return uint64_t{f.crc32}; });
}

std::optional<FrameMap> FrameMap::take_columns(ByteView& bytes, uint32_t count,
                                               uint64_t object_bytes) {
  const auto encodings = Column64::take(bytes, count);
  const auto gaps = Column64::take(bytes, count);
  const auto encoded = Column64::take(bytes, count, 1);
  const auto decoded = Column64::take(bytes, count);
  const auto checksums = Column64::take(bytes, count);
  if (!encodings || !gaps || !encoded || !decoded || !checksums) return std::nullopt;
  FrameMap map;
  map.frames_.reserve(count);
  uint64_t end = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if ((*encodings)[i] > static_cast<uint64_t>(kLastEncoding) || (*gaps)[i] > object_bytes - end)
      return std::nullopt;
    Frame frame{.encoded_offset = end + (*gaps)[i],
                .encoded_size = (*encoded)[i],
                .decoded_size = (*decoded)[i],
                .crc32 = static_cast<uint32_t>((*checksums)[i]),
                .encoding = static_cast<Encoding>((*encodings)[i])};
    const bool outside = frame.encoded_size > object_bytes - frame.encoded_offset;
    if (outside || frame.decoded_size == 0 || !is_possible(frame) ||
        frame.decoded_size > kMost - map.decoded_size())
      return std::nullopt;
    end = frame.encoded_end();
    map.add(frame);
  }
  return map;
}

}  // namespace headrace
