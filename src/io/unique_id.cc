#include "io/unique_id.h"

#include <random>

#include "base/digest.h"

namespace headrace {

std::string unique_id() {
  std::random_device device;
  return hex64((uint64_t{device()} << 32) | device());
}

}  // namespace headrace
