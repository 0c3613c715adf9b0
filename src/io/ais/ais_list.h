// The listing of a bucket.
#pragma once

#include <string>
#include <vector>

#include "headrace/store.h"
#include "io/ais/cluster.h"

namespace headrace {

/// Every object whose name begins with `prefix`, sorted by the bytes of its whole name. The map is
/// compared before and after: a listing during which targets came or went may lack objects without
/// a word, and is made again.
Result<std::vector<StoreEntry>> list_bucket(AisCluster& cluster, const std::string& bucket,
                                            const std::string& prefix, const std::string& name);

}  // namespace headrace
