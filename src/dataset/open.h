// From the locations a user names to the catalog of the data set that lies there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataset/catalog.h"

namespace headrace {

/// What Dataset::open does, up to the catalog. Nothing at the location: Code::kNotFound.
Result<std::unique_ptr<Catalog>> open_catalog(const std::vector<std::string>& locations,
                                              const OpenOptions& options,
                                              const std::shared_ptr<NodeCache>& cache);

}  // namespace headrace
