// --verify: shards that were written are read back before the data set is committed.
// Thread-safety: one at a time per publication.
#pragma once

#include <cstdint>
#include <vector>

#include "headrace/store.h"
#include "job/progress.h"
#include "job/publish.h"

namespace headrace {

/// Reads the shards of finished tasks whole, local ones from the disk and not from memory, and
/// compares them with the checksums that were taken when they were written. Code::kCorrupt names
/// one that differs; its record is gone, so that it is written again.
Status read_back(const Store& store, Publication& publication, const std::vector<uint64_t>& tasks,
                 unsigned threads, Progress& progress);
/// Of tasks 0 … tasks - 1.
Status read_all_back(const Store& store, Publication& publication, uint64_t tasks, unsigned threads,
                     Progress& progress);

}  // namespace headrace
