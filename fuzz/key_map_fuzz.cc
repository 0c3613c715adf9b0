// Any bytes as a key map, and as a template of shard names: no expression hangs, and a name stays
// in the destination.
#include <cstdlib>

#include "base/safe_path.h"
#include "job/key_map.h"
#include "job/name_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto map = KeyMap::parse(text); map.ok()) {
    const auto number = map->find(text.substr(0, 64));
    if (number && *number >= map->templates().size()) std::abort();
  }
  const auto names = NameTemplate::parse(text);
  if (!names.ok()) return 0;
  for (const uint64_t number : {uint64_t{0}, names->limit() - 1})
    if (number < names->limit() && !is_safe_path(names->name(number))) std::abort();
  return 0;
}
