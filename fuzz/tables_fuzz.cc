// Any bytes as the shard table (its checksum made right), the place table and the key table.
#include <cstdlib>
#include <cstring>

#include "base/digest.h"
#include "plan/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  std::string file(reinterpret_cast<const char*>(data), size);
  const ByteView bytes = as_bytes(file);
  if (size >= kPlaceHeaderBytes) {
    const uint64_t rows = (size - kPlaceHeaderBytes) / kPlaceBytes;
    if (check_place_header(bytes, rows, "t").ok())
      for (uint64_t i = 0; i < rows; ++i)
        (void)decode_place(bytes.subspan(kPlaceHeaderBytes + i * kPlaceBytes, kPlaceBytes), "t")
            .ok();
    if (check_key_header(bytes, (size - kKeyHeaderBytes) / kKeyBytes, "t").ok())
      for (size_t at = kKeyHeaderBytes; at + kKeyBytes <= size; at += kKeyBytes)
        (void)decode_key_entry(bytes.data() + at);
    const uint64_t sum = xxh3(bytes.subspan(32));
    std::memcpy(file.data() + 24, &sum, sizeof sum);
  }
  const auto table = decode_shard_table(as_bytes(file), "t");
  if (table.ok() && encode_shard_table(*table) != file) std::abort();
  return 0;
}
