// A key rule (the first line) and a path (the rest): no pattern hangs, crashes or gives an empty
// key.
#include <cstdlib>
#include <string_view>

#include "format/key_rule.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  if (line == text.npos) return 0;
  const auto rule = KeyRule::parse(text.substr(0, line));
  if (!rule.ok()) return 0;
  KeyField out;
  const auto split = rule->split(text.substr(line + 1), out);
  if (split.ok() && *split && out.key.empty()) std::abort();
  return 0;
}
