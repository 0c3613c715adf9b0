// Small objects, read whole and all at once, so that several cost one round trip.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/store.h"

namespace headrace {

/// The bytes of each object, in the same order. Waits for all of them: nothing is under way
/// afterwards, so the process may fork. Thread-safe.
std::vector<Result<std::string>> read_whole(
    const std::vector<std::unique_ptr<ByteSource>>& objects);

}  // namespace headrace
