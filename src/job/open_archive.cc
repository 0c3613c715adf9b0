#include "job/open_archive.h"

#include "base/try.h"
#include "dataset/containers.h"
#include "dataset/decoded_source.h"
#include "job/hashed_reads.h"

namespace headrace {

Result<std::optional<OpenArchive>> open_archive(std::shared_ptr<const ByteSource> object,
                                                Container container, const ShardIndex* index,
                                                ShardReport& report, Progress& progress) {
  if (!is_compressed(container)) return std::optional(OpenArchive{std::move(object)});
  HashedReads reads(*object, progress);
  if (index != nullptr && index->frames()) {
    HR_TRY(const uint64_t xxh3, reads.finish());
    auto bytes = std::make_shared<DecodedSource>(std::move(object), index->frames(),
                                                 DecodedFrames::make(), 0);
    return std::optional(OpenArchive{std::move(bytes), xxh3});
  }
  auto view = view_archive(object, container, [&](uint64_t offset, MutableBytes into) {
    return reads.read(offset, into);
  });
  if (!view.ok()) {
    if (view.error().code == Code::kInterrupted) return std::move(view).error();
    report.unreadable(std::move(view).error());
    return std::optional<OpenArchive>();
  }
  HR_TRY(const uint64_t xxh3, reads.finish());
  return std::optional(OpenArchive{std::move(view->bytes), xxh3});
}

Result<ArchiveScan> scan(const OpenArchive& archive, Progress& progress,
                         const ScanCallbacks& callbacks) {
  const bool counted = archive.xxh3.has_value();
  HR_TRY(ArchiveScan result, scan_archive(*archive.bytes, !counted, progress, callbacks));
  if (archive.xxh3) result.xxh3 = *archive.xxh3;
  return result;
}

void report_end(const TarEnd& end, uint64_t limit, ShardReport& report) {
  if (end.archives > 1)
    report.warn(FindingKind::kEnd,
                "several archives in one object: zero blocks lie between members, and other "
                "readers stop at the first end",
                Origin::kNoOffset);
  if (end.trailing < limit)
    report.warn(FindingKind::kEnd, "bytes behind the end of the archive", end.trailing);
  if (end.ending == TarEnding::kOneBlock)
    report.warn(FindingKind::kEnd, "one end-of-archive block instead of two", end.members_end);
}

}  // namespace headrace
