// The part of verify that looks at the root manifest and its tables.
// Thread-safety: called from one thread.
#pragma once

#include <memory>

#include "dataset/catalog.h"
#include "headrace/store.h"
#include "job/findings.h"
#include "job/progress.h"

namespace headrace {

/// Checks root and tables; findings go to Findings::kTables. Returns the catalog, or nullptr if the
/// shards cannot be named or counted any more.
Result<std::unique_ptr<Catalog>> check_tables(const std::shared_ptr<Store>& store,
                                              Findings& findings, const Progress& progress);

/// A sum over samples that does not depend on their order: equal for the index sections and the
/// key table of an intact data set.
uint64_t key_entry_mix(uint64_t hash, SampleId id);

/// Walks the key table: sorted, the same entries as the index sections (`expected_mix`; skipped if
/// 0), duplicate keys.
Status check_keys(const Store& store, const Catalog& catalog, uint64_t expected_mix,
                  Findings& findings);

/// Reports samples that share a hash and, really, a key. `same`: in manifest order.
Status report_duplicates(const std::vector<SampleId>& same, const Catalog& catalog,
                         Findings& findings);

}  // namespace headrace
