#include "job/verify_members.h"

#include <algorithm>

#include "base/try.h"
#include "dataset/containers.h"
#include "job/hashed_reads.h"
#include "job/index_cursor.h"
#include "job/zip_check.h"

namespace headrace {
namespace {

/// As the archive itself has it.
std::string name_in(Container container, const ShardIndex& index, const IndexCursor& at) {
  return container == Container::kZip ? at.name() : index.fields()[at.member().field];
}

/// The first difference between two indexes of one archive, which there should not be.
void report_difference(Container container, const ShardIndex& known, const ShardIndex& found,
                       ShardReport& report) {
  IndexCursor expected(&known);
  IndexCursor there(&found);
  for (; !expected.at_end() && !there.at_end(); expected.next(), there.next())
    if (name_in(container, known, expected) != name_in(container, found, there) ||
        expected.member().size != there.member().size)
      return report.corrupt(
          FindingKind::kIndex,
          "the index has '" + expected.name() + "' where the archive has '" + there.name() + "'",
          expected.name(), Origin::kNoOffset);
  if (!expected.at_end() || !there.at_end())
    report.corrupt(FindingKind::kIndex, "the index and the archive have unequal many members", "",
                   Origin::kNoOffset);
}

/// Row groups that decode to other bytes of the same sizes.
void report_changed_rows(const ShardIndex& known, const ShardIndex& found, ShardReport& report) {
  if (!known.frames() || !found.frames()) return;
  const auto& before = known.frames()->frames();
  const auto& now = found.frames()->frames();
  for (size_t i = 0; i < std::min(before.size(), now.size()); ++i)
    if (before[i].crc32 != now[i].crc32)
      report.corrupt(FindingKind::kChecksum,
                     "the values of a row group are not those that were indexed", "",
                     now[i].encoded_offset);
}

}  // namespace

Result<std::optional<IndexedArchive>> read_members(const std::shared_ptr<const ByteSource>& object,
                                                   Container container, const KeyRule& rule,
                                                   ShardReport& report, const Progress& progress) {
  const ReadAt read = [&](uint64_t at, MutableBytes into) -> Status {
    if (progress.stopped()) return Progress::interrupted();
    return object->read_at(at, into);
  };
  auto archive = index_container(object, container, object->name(), rule, read);
  if (!archive.ok()) {
    if (archive.error().code == Code::kInterrupted) return std::move(archive).error();
    report.unreadable(std::move(archive).error());
    return std::optional<IndexedArchive>();
  }
  if (container == Container::kZip)
    HR_CHECK(check_zip_contents(*object, archive->builder.index(), progress, [&](Error damage) {
      report.add(Severity::kError, FindingKind::kChecksum, std::move(damage));
      return Status::success();
    }));
  return std::optional(std::move(*archive));
}

Result<uint64_t> check_members(const KnownShard& shard,
                               const std::shared_ptr<const ByteSource>& object, ShardReport& report,
                               Progress& progress) {
  HashedReads reads(*object, progress);
  HR_TRY(const uint64_t xxh3, reads.finish());
  HR_TRY(const auto archive, read_members(object, shard.container, shard.rule, report, progress));
  if (archive && shard.index) {
    report_difference(shard.container, *shard.index, archive->builder.index(), report);
    if (shard.container == Container::kParquet)
      report_changed_rows(*shard.index, archive->builder.index(), report);
  }
  if (shard.xxh3 != 0 && xxh3 != shard.xxh3 && object->size() == shard.bytes)
    report.corrupt(FindingKind::kChecksum, "the bytes are not those that were indexed", "",
                   Origin::kNoOffset);
  return xxh3;
}

}  // namespace headrace
