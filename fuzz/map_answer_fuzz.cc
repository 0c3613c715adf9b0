// Any bytes as what a Python process says of a sample: samples that are no larger than it, or an
// error.
#include <cstdlib>

#include "job/map/map_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const auto answer =
      decode_map_answer(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!answer.ok()) return 0;
  size_t bytes = answer->raised ? answer->raised->size() : 0;
  for (const MapSample& sample : answer->samples) {
    bytes += sample.key.size();
    for (const MapField& field : sample.fields) bytes += field.name.size() + field.bytes.size();
    static_cast<void>(encode_map_question(sample, 0));
  }
  if (bytes > size || (answer->raised && !answer->samples.empty())) std::abort();
  return 0;
}
