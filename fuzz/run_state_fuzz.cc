// Any bytes as a resume state; one that is accepted must come back the same.
#include <cstdlib>

#include "plan/run_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const auto state = decode_state({reinterpret_cast<const char*>(data), size});
  if (!state.ok()) return 0;
  const std::string text = encode_state(*state);
  const auto again = decode_state(text);
  if (!again.ok() || encode_state(*again) != text) std::abort();
  static_cast<void>(with_total(*state, 2 * state->options.order.lanes));
  return 0;
}
