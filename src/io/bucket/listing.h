// Every object below a prefix of a bucket.
#pragma once

#include <string>
#include <vector>

#include "io/bucket/bucket_service.h"

namespace headrace {

/// Whole keys, sorted. A listing of one page is one request; of a larger one the folders right
/// below the prefix are listed in parallel. "Folders" that consoles make, empty objects whose key
/// ends in '/', and parts of objects that are not whole yet (part_object.h) are left out.
Result<std::vector<StoreEntry>> list_bucket(const BucketService& service, Fetcher& fetcher,
                                            const std::string& prefix);

}  // namespace headrace
