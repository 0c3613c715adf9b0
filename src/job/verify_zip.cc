#include "job/verify_zip.h"

#include "base/try.h"
#include "job/hashed_reads.h"
#include "job/index_cursor.h"
#include "job/zip_check.h"

namespace headrace {
namespace {

/// The first difference between two indexes of one archive, which there should not be.
void report_difference(const ShardIndex& known, const ShardIndex& found, ShardReport& report) {
  IndexCursor expected(&known);
  IndexCursor there(&found);
  for (; !expected.at_end() && !there.at_end(); expected.next(), there.next())
    if (expected.name() != there.name() || expected.member().size != there.member().size)
      return report.corrupt(
          FindingKind::kIndex,
          "the index has '" + expected.name() + "' where the archive has '" + there.name() + "'",
          expected.name(), Origin::kNoOffset);
  if (!expected.at_end() || !there.at_end())
    report.corrupt(FindingKind::kIndex, "the index and the archive have unequal many members", "",
                   Origin::kNoOffset);
}

}  // namespace

Result<std::optional<IndexedArchive>> read_zip(const ByteSource& object, const KeyRule& rule,
                                               ShardReport& report, Progress& progress) {
  const ReadAt read = [&](uint64_t at, MutableBytes into) { return object.read_at(at, into); };
  auto archive = index_zip(object.name(), object.size(), read, rule);
  if (!archive.ok()) {
    report.unreadable(std::move(archive).error());
    return std::optional<IndexedArchive>();
  }
  HR_CHECK(check_zip_contents(object, archive->builder.index(), progress, [&](Error damage) {
    report.add(Severity::kError, FindingKind::kChecksum, std::move(damage));
    return Status::success();
  }));
  return std::optional(std::move(*archive));
}

Result<uint64_t> check_zip(const KnownShard& shard, const ByteSource& object, ShardReport& report,
                           Progress& progress) {
  HashedReads reads(object, progress);
  HR_TRY(const uint64_t xxh3, reads.finish());
  HR_TRY(const auto archive, read_zip(object, shard.rule, report, progress));
  if (archive && shard.index) report_difference(*shard.index, archive->builder.index(), report);
  if (shard.xxh3 != 0 && xxh3 != shard.xxh3 && object.size() == shard.bytes)
    report.corrupt(FindingKind::kChecksum, "the bytes are not those that were indexed", "",
                   Origin::kNoOffset);
  return xxh3;
}

}  // namespace headrace
