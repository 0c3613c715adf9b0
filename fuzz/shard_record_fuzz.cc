// Any bytes as what a task left behind, with a right checksum; what decodes comes back the same.
#include <cstdlib>

#include "base/digest.h"
#include "base/little_endian.h"
#include "job/shard_record.h"

namespace {

using namespace headrace;

void check_record(std::string bytes) {
  append_le(bytes, xxh3(as_bytes(bytes)));
  const auto record = decode_record(as_bytes(bytes), "record");
  if (record.ok() && encode_record(*record) != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_record(bytes);
  check_record(encode_record({}).substr(0, 8) + bytes);  // behind the magic
  return 0;
}
