// Decodes every member of a zip archive and holds it against its CRC-32.
// Thread-safety: pure; callbacks come from the calling thread.
#pragma once

#include <functional>
#include <memory>

#include "format/shard_index.h"
#include "headrace/store.h"
#include "job/progress.h"

namespace headrace {

/// `index` is of the archive in `object`. Each damaged member is reported, with its name and offset
/// in the object. Errors: Code::kInterrupted, and those of `on_damage`.
Status check_zip_contents(const ByteSource& object, const ShardIndex& index,
                          const Progress& progress, const std::function<Status(Error)>& on_damage);

}  // namespace headrace
