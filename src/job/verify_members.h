// The part of verify that looks at archives that are no tar: zip and Parquet.
// Thread-safety: functions touch only their arguments.
#pragma once

#include <memory>
#include <optional>

#include "format/index_archive.h"
#include "headrace/store.h"
#include "job/progress.h"
#include "job/shard_report.h"
#include "job/verify_shard.h"

namespace headrace {

/// Indexes an archive and decodes all of it; nothing, and a finding, if that cannot be done.
Result<std::optional<IndexedArchive>> read_members(const std::shared_ptr<const ByteSource>& object,
                                                   Container container, const KeyRule& rule,
                                                   ShardReport& report, const Progress& progress);

/// Compares it with what is known. Of a Parquet file fields and sizes are compared, and what its
/// row groups decode to; keys are no part of it. Returns the XXH3 that the object has.
Result<uint64_t> check_members(const KnownShard& shard,
                               const std::shared_ptr<const ByteSource>& object, ShardReport& report,
                               Progress& progress);

}  // namespace headrace
