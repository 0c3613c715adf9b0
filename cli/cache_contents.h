// The actions of `headrace cache` that go through all bytes.
#pragma once

#include <string>

#include "cli/command.h"
#include "io/cache/cache_folder.h"

namespace headrace::cli {

/// Reads every object of the data set through the cache. Code::kNoSpace if it does not fit.
Result<int> prefetch(const std::string& location, const std::string& folder, Context& context);

/// Checks every granule and takes damaged ones out. Exit code 4 if there were any.
Result<int> verify_cache(const CacheFolder& cache, Context& context);

}  // namespace headrace::cli
