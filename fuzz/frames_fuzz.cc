// Any bytes as a compressed archive: scanned, and every frame that was found decoded by itself,
// which must give what the scan counted.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "format/frame_codec.h"
#include "format/frame_scan.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView object(reinterpret_cast<const std::byte*>(data), size);
  for (const Encoding encoding : {Encoding::kGzip, Encoding::kLz4, Encoding::kZstd}) {
    const auto map = scan_frames(encoding, size, [&](uint64_t offset, MutableBytes into) -> Status {
      if (offset > size || into.size() > size - offset) std::abort();
      if (!into.empty()) std::memcpy(into.data(), data + offset, into.size());
      return {};
    });
    if (!map.ok()) continue;
    for (const Frame& frame : map->frames()) {
      std::string decoded(frame.decoded_size, '\0');
      if (!decode_frame(frame, object.subspan(frame.encoded_offset, frame.encoded_size),
                        as_writable_bytes(decoded))
               .ok())
        std::abort();
    }
  }
  return 0;
}
