// The part of verify that looks at a zip archive.
// Thread-safety: functions touch only their arguments.
#pragma once

#include <optional>

#include "format/index_archive.h"
#include "job/progress.h"
#include "job/shard_report.h"
#include "job/verify_shard.h"

namespace headrace {

/// Indexes a zip archive and decodes all of it; nothing, and a finding, if that cannot be done.
Result<std::optional<IndexedArchive>> read_zip(const ByteSource& object, const KeyRule& rule,
                                               ShardReport& report, Progress& progress);

/// Compares it with what is known. Returns the XXH3 that the object has.
Result<uint64_t> check_zip(const KnownShard& shard, const ByteSource& object, ShardReport& report,
                           Progress& progress);

}  // namespace headrace
