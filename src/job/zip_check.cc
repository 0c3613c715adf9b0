#include "job/zip_check.h"

#include <algorithm>
#include <vector>

#include "base/try.h"
#include "format/frame_codec.h"

namespace headrace {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

/// A stored member may be larger than memory.
Status check_stored(const ByteSource& object, const Frame& frame, std::vector<std::byte>& buffer) {
  uint32_t crc32 = 0;
  buffer.resize(std::min(kPieceBytes, frame.encoded_size));
  for (uint64_t done = 0; done < frame.encoded_size;) {
    const auto piece =
        MutableBytes(buffer).first(std::min<uint64_t>(buffer.size(), frame.encoded_size - done));
    HR_CHECK(object.read_at(frame.encoded_offset + done, piece));
    crc32 = crc32_of(piece, crc32);
    done += piece.size();
  }
  if (crc32 == frame.crc32) return {};
  return Error{.code = Code::kCorrupt,
               .message = "the bytes do not have the CRC-32 that the archive names",
               .origin = {.offset = frame.encoded_offset}};
}

Status check_packed(const ByteSource& object, const Frame& frame, std::vector<std::byte>& buffer) {
  buffer.resize(frame.encoded_size + frame.decoded_size);
  const MutableBytes packed = MutableBytes(buffer).first(frame.encoded_size);
  HR_CHECK(object.read_at(frame.encoded_offset, packed));
  return decode_frame(frame, packed, MutableBytes(buffer).subspan(packed.size()));
}

/// KEY.FIELD of the member whose contents begin at `offset`.
std::string name_at(const ShardIndex& index, uint64_t offset) {
  for (uint32_t sample = 0; sample < index.size(); ++sample)
    for (const IndexMember& member : index.members(sample))
      if (member.offset == offset && member.size > 0)
        return std::string(index.key(sample)) + "." + index.fields()[member.field];
  return {};
}

}  // namespace

Status check_zip_contents(const ByteSource& object, const ShardIndex& index,
                          const Progress& progress, const std::function<Status(Error)>& on_damage) {
  if (!index.frames()) return {};
  std::vector<std::byte> buffer;
  for (const Frame& frame : index.frames()->frames()) {
    if (progress.stopped()) return Progress::interrupted();
    Status status = frame.encoding == Encoding::kStored ? check_stored(object, frame, buffer)
                                                        : check_packed(object, frame, buffer);
    if (!status.ok())
      HR_CHECK(on_damage(std::move(status).error().at(
          {.shard = object.name(), .member = name_at(index, frame.decoded_offset)})));
  }
  return {};
}

}  // namespace headrace
