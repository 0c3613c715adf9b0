#include "job/index_shard.h"

#include <algorithm>

#include "base/try.h"
#include "dataset/containers.h"
#include "job/archive_scan.h"
#include "job/hashed_reads.h"
#include "job/zip_check.h"

namespace headrace {
namespace {

/// Reads a plain tar once, for its index and all checksums.
class ScannedShard {
 public:
  ScannedShard(const ByteSource& source, const KeyRule& rule)
      : source_(source), grouper_(rule, out_) {}

  Result<IndexedArchive> run(Progress& progress, uint64_t& xxh3) {
    HR_CHECK(check_not_empty(source_.name(), source_.size()));
    HR_TRY(const ArchiveScan scan,
           scan_archive(source_, true, progress,
                        {.on_member = [this](const TarMember& member) { take(member); },
                         .on_payload = [this](ByteView bytes) { take(bytes); },
                         .on_problem = [this](ScanProblem kind, Error e) { note(kind, e); },
                         .next_header = [](uint64_t) { return std::optional<uint64_t>(); }}));
    if (!problem_.ok()) return std::move(problem_).error().at({source_.name()});
    finish_archive(source_.name(), source_.size(), *scan.end, out_);
    xxh3 = scan.xxh3;
    return std::move(out_);
  }

 private:
  void take(const TarMember& member) {
    if (!problem_.ok()) return;
    auto taken = grouper_.add(member);
    wanted_ = taken.ok() && *taken;
    if (!taken.ok()) problem_ = std::move(taken).error();
    payload_.begin(member.size);
    if (member.size == 0) take(ByteView());
  }

  void take(ByteView bytes) {
    const auto checksum = wanted_ ? payload_.take(bytes) : std::nullopt;
    if (checksum) out_.builder.set_checksum(*checksum);
  }

  /// Padding is nobody's data: `verify` looks at it.
  void note(ScanProblem kind, Error& error) {
    if (kind == ScanProblem::kHeader && problem_.ok()) problem_ = std::move(error);
  }

  const ByteSource& source_;
  IndexedArchive out_;
  MemberGrouper grouper_;
  PayloadChecksum payload_;
  bool wanted_ = false;  // the newest member is part of a sample
  Status problem_;
};

/// A compressed archive, or headers alone.
Result<IndexedArchive> index_by_reads(const std::shared_ptr<const ByteSource>& source,
                                      const std::string& name, const KeyRule& rule, bool checksum,
                                      Progress& progress, uint64_t& xxh3) {
  const Container container = container_of(name).value_or(Container::kTar);
  HashedReads reads(*source, progress);
  const auto read = [&](uint64_t at, MutableBytes into) -> Status {
    return checksum ? reads.read(at, into) : source->read_at(at, into);
  };
  HR_TRY(IndexedArchive archive, index_container(source, container, name, rule, read));
  if (!checksum) {
    progress.bytes += source->size();
    return archive;
  }
  HR_TRY(xxh3, reads.finish());
  if (container == Container::kZip)
    HR_CHECK(check_zip_contents(*source, archive.builder.index(), progress,
                                [](Error damage) -> Status { return damage; }));
  return archive;
}

}  // namespace

std::vector<FieldSummary> summarise(const ShardIndex& index) {
  std::vector<FieldSummary> by_number(index.fields().size());
  for (uint32_t sample = 0; sample < index.size(); ++sample) {
    for (const IndexMember& member : index.members(sample)) {
      FieldSummary& field = by_number[member.field];
      field.min_bytes = field.count == 0 ? member.size : std::min(field.min_bytes, member.size);
      field.max_bytes = std::max(field.max_bytes, member.size);
      field.bytes += member.size;
      ++field.count;
    }
  }
  std::vector<FieldSummary> fields;
  for (size_t number = 0; number < by_number.size(); ++number) {
    by_number[number].name = index.fields()[number];
    by_number[number].unit = index.unit(static_cast<uint32_t>(number));
    if (by_number[number].count > 0) merge_fields(fields, {by_number[number]});
  }
  return fields;
}

void fill_record(const ShardIndexBuilder& builder, ShardRecord& record) {
  record.samples = builder.size();
  record.block_samples = block_samples(builder.index(), record.bytes);
  record.fields = summarise(builder.index());
  record.section = builder.encode();
}

Result<IndexedShard> index_one_shard(const Store& store, const std::string& name,
                                     const KeyRule& rule, bool checksum, bool lenient,
                                     Progress& progress) {
  HR_TRY(std::shared_ptr<const ByteSource> source, store.open(name));
  IndexedShard shard;
  shard.record.name = name;
  shard.record.bytes = source->size();
  const Container container = container_of(name).value_or(Container::kTar);
  uint64_t& xxh3 = shard.record.xxh3;
  HR_TRY(IndexedArchive archive,
         checksum && !is_compressed(container)
             ? ScannedShard(*source, rule).run(progress, xxh3)
             : index_by_reads(source, name, rule, checksum, progress, xxh3));
  if (archive.end.ending == TarEnding::kNoBlock && !lenient)
    return Error{.code = Code::kCorrupt,
                 .message = "the archive has no end mark: it may have been cut between two members",
                 .origin = {source->name(), "", archive.end.members_end},
                 .hint = "Compare its size with the original, or take it as it is with --lenient."};
  fill_record(archive.builder, shard.record);
  shard.warnings = std::move(archive.warnings);
  return shard;
}

}  // namespace headrace
