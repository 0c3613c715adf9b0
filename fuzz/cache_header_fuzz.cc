// Any bytes as the header of a cache file, with a right checksum: what decodes can be computed with
// and comes back the same.
#include <cstdlib>
#include <cstring>

#include "base/digest.h"
#include "base/little_endian.h"
#include "io/cache/entry_header.h"

namespace {

using namespace headrace;

void require(bool condition) {
  if (!condition) std::abort();
}

void decode(const std::string& bytes) {
  const auto header = decode_entry_header(as_bytes(bytes), "file");
  if (!header.ok()) return;
  const uint64_t last = header->granules() - 1;
  require(header->granule_size(last) >= 1);
  require(header->granule_begin(last) + header->granule_size(last) == header->object_bytes);
  require(header->records_offset() >= EntryHeader::kFixedBytes + header->name.size());
  require(header->data_offset() >= header->records_offset() + 8 * header->granules());
  require(header->file_bytes() > header->object_bytes);
  const auto again = decode_entry_header(as_bytes(encode_entry_header(*header)), "file");
  require(again.ok() && *again == *header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  decode(bytes);
  if (size < EntryHeader::kFixedBytes) return 0;
  std::memcpy(bytes.data(), "HRCACHE1", 8);
  const uint64_t name = load_le<uint32_t>(as_bytes(bytes).data() + 28) % (size - 31);
  const auto name_bytes = static_cast<uint32_t>(name);
  std::memcpy(bytes.data() + 28, &name_bytes, sizeof name_bytes);
  const uint64_t sum = xxh3(as_bytes(bytes).subspan(16, 16 + name_bytes));
  std::memcpy(bytes.data() + 8, &sum, sizeof sum);
  decode(bytes);
  return 0;
}
