// Any bytes as a manifest; one that is accepted must come back the same.
#include <cstdlib>

#include "plan/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const ByteView json(reinterpret_cast<const std::byte*>(data), size);
  const auto manifest = decode_manifest(json, "headrace.json");
  if (!manifest.ok()) return 0;
  const std::string text = encode_manifest(*manifest);
  const auto again = decode_manifest(as_bytes(text), "headrace.json");
  if (!again.ok() || encode_manifest(*again) != text) std::abort();
  return 0;
}
