#include "job/index_shard.h"

#include <algorithm>

#include "base/digest.h"
#include "base/try.h"
#include "format/index_archive.h"
#include "plan/shard_table.h"

namespace headrace {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

Result<uint64_t> checksum_of(const ByteSource& source, Progress& progress) {
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kReadBytes);
  Xxh3Stream digest;
  for (uint64_t offset = 0; offset < source.size();) {
    if (progress.stopped()) return Progress::interrupted();
    const MutableBytes piece(buffer.get(), std::min<uint64_t>(kReadBytes, source.size() - offset));
    HR_CHECK(source.read_at(offset, piece));
    digest.update(piece);
    offset += piece.size();
    progress.bytes += piece.size();
  }
  return digest.digest();
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
    if (by_number[number].count > 0) merge_fields(fields, {by_number[number]});
  }
  return fields;
}

void fill_record(const ShardIndexBuilder& builder, ShardRecord& record) {
  record.samples = builder.size();
  record.block_samples = default_block_samples(record.samples, record.bytes);
  record.fields = summarise(builder.index());
  record.section = builder.encode();
}

Result<IndexedShard> index_tar_shard(const Store& store, const std::string& name,
                                     const KeyRule& rule, bool checksum, bool lenient,
                                     Progress& progress) {
  HR_TRY(const auto source, store.open(name));
  IndexedShard shard;
  shard.record.name = name;
  shard.record.bytes = source->size();
  if (checksum) {
    HR_TRY(shard.record.xxh3, checksum_of(*source, progress));
  } else {
    progress.bytes += source->size();
  }
  HR_TRY(
      IndexedArchive archive,
      index_archive(
          source->name(), source->size(),
          [&source](uint64_t at, MutableBytes into) { return source->read_at(at, into); }, rule));
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
