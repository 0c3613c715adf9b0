// The catalog of a selection: another catalog's shards, with some of their samples.
#pragma once

#include <memory>

#include "dataset/catalog.h"
#include "headrace/selection.h"

namespace headrace {

/// Code::kUsage if the selection does not have the catalog's shards and samples.
Result<std::unique_ptr<Catalog>> select_from(std::shared_ptr<const Catalog> whole,
                                             Selection selection);

}  // namespace headrace
