// A shard's archive, decoded if it is compressed, for those who look at every byte of it.
// Thread-safety: functions touch only their arguments.
#pragma once

#include <memory>
#include <optional>

#include "headrace/result.h"
#include "headrace/store.h"
#include "job/archive_scan.h"
#include "job/progress.h"
#include "job/shard_report.h"
#include "job/verify_shard.h"

namespace headrace {

/// An archive as its index sees it, and the XXH3 of the object if it had to be read for that.
struct OpenArchive {
  std::shared_ptr<const ByteSource> bytes;
  std::optional<uint64_t> xxh3 = {};
};

/// Nothing, and a finding, where a compressed archive cannot be decoded. Its frames are those of
/// the index, if there is one.
Result<std::optional<OpenArchive>> open_archive(std::shared_ptr<const ByteSource> object,
                                                Container container, const ShardIndex* index,
                                                ShardReport& report, Progress& progress);

/// Scans the bytes of an archive. Those of a compressed one have been counted.
Result<ArchiveScan> scan(const OpenArchive& archive, Progress& progress,
                         const ScanCallbacks& callbacks);

/// What is odd about an archive's end but loses nothing. Bytes from `limit` on are not its own.
void report_end(const TarEnd& end, uint64_t limit, ShardReport& report);

}  // namespace headrace
