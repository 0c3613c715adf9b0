// The part of verify that looks for objects which the manifest does not name: beside it, and where
// the shards are when `base` says that they are elsewhere.
// Thread-safety: reads only; findings are added by the calling thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataset/catalog.h"
#include "headrace/result.h"
#include "headrace/store.h"
#include "job/findings.h"

namespace headrace {

/// Adds a warning for each. `shards`: full names of the shards, "" for unknown ones. Loose files
/// are known by the index.
Status check_objects(const std::shared_ptr<Store>& store, const Catalog& catalog,
                     const std::vector<std::string>& shards, Findings& findings);

}  // namespace headrace
