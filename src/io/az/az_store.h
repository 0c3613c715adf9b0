// az://CONTAINER/PREFIX: docs/stores.md says what the environment sets.
#pragma once

#include <memory>
#include <string>

#include "headrace/store.h"

namespace headrace {

Result<std::shared_ptr<Store>> open_az_store(const std::string& location);

}  // namespace headrace
