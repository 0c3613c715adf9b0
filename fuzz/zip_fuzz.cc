// Any bytes as a zip archive: what the directory claims lies inside, and is decoded or refused.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "format/frame_codec.h"
#include "format/zip_directory.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView object(reinterpret_cast<const std::byte*>(data), size);
  const auto members = read_zip_directory(size, [&](uint64_t offset, MutableBytes into) -> Status {
    if (offset > size || into.size() > size - offset) std::abort();
    if (!into.empty()) std::memcpy(into.data(), data + offset, into.size());
    return {};
  });
  if (!members.ok()) return 0;
  for (const ZipMember& member : *members) {
    const Frame& frame = member.frame;
    if (!member.is_file || frame.decoded_size == 0) continue;
    std::string decoded(frame.decoded_size, '\0');
    const Status status =
        decode_frame(frame, object.subspan(frame.encoded_offset, frame.encoded_size),
                     as_writable_bytes(decoded));
    static_cast<void>(status);
  }
  return 0;
}
