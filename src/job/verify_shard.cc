#include "job/verify_shard.h"

#include <algorithm>

#include "base/try.h"
#include "dataset/containers.h"
#include "io/urls.h"
#include "job/index_comparison.h"
#include "job/open_archive.h"
#include "job/verify_members.h"

namespace headrace {
namespace {

/// A shard that is shorter than its manifest says: what is lost, from where on.
void report_cut(const KnownShard& shard, uint64_t size, ShardReport& report) {
  std::string message = "cut off: " + std::to_string(size) + " of " + std::to_string(shard.bytes) +
                        " bytes are there";
  std::string member;
  // Of a compressed one offsets are in what it decodes to.
  if (shard.index != nullptr && shard.index->is_archive() && !shard.index->frames()) {
    IndexCursor cursor(shard.index.get());
    while (!cursor.at_end() && cursor.member().offset + cursor.member().size <= size) cursor.next();
    if (cursor.at_end()) {
      message += "; every sample is whole, only the end of the archive is lost";
    } else {
      member = cursor.name();
      message += "; " + std::to_string(shard.index->size() - cursor.sample()) + " of " +
                 std::to_string(shard.index->size()) + " samples are lost or cut";
    }
  }
  report.corrupt(FindingKind::kTruncated, std::move(message), std::move(member), size);
}

void report_size(const KnownShard& shard, uint64_t size, ShardReport& report) {
  if (size < shard.bytes) report_cut(shard, size, report);
  if (size > shard.bytes)
    report.corrupt(FindingKind::kSize,
                   std::to_string(size - shard.bytes) + " bytes more than the manifest says", "",
                   shard.bytes);
}

Result<bool> is_changed(const ByteSource& archive, const IndexMember& member, uint32_t known,
                        std::vector<std::byte>& buffer, const Progress& progress) {
  PayloadChecksum payload;
  payload.begin(member.size);
  auto checksum = payload.take({});  // of an empty one
  for (uint64_t at = 0; at < member.size;) {
    if (progress.stopped()) return Progress::interrupted();
    const auto piece =
        MutableBytes(buffer).first(std::min<uint64_t>(buffer.size(), member.size - at));
    HR_CHECK(archive.read_at(member.offset + at, piece));
    checksum = payload.take(piece);
    at += piece.size();
  }
  return checksum != known;
}

/// The bytes of the archive are others than those that were indexed: which members have changed, by
/// their checksums; it is read again for that, because it is rare.
Status find_changed_payloads(const KnownShard& shard, const ByteSource& archive,
                             ShardReport& report, const Progress& progress) {
  const bool is_explained = report.any_error();
  const bool can_tell = shard.index != nullptr && shard.index->has_checksums();
  std::vector<std::byte> buffer(size_t{1} << 20);
  bool found = false;
  for (IndexCursor at(can_tell ? shard.index.get() : nullptr); !at.at_end(); at.next()) {
    const uint32_t known = shard.index->checksum(at.member());
    if (known == kNoChecksum || at.member().offset + at.member().size > archive.size()) continue;
    HR_TRY(const bool changed, is_changed(archive, at.member(), known, buffer, progress));
    if (!changed) continue;
    found = true;
    report.corrupt(FindingKind::kChecksum, "the data are not those that were packed", at.name(),
                   at.member().offset);
  }
  if (found) return {};
  std::string message = "the bytes are not those that were indexed";
  if (!is_explained && can_tell) message += "; the data of all members are intact";
  if (!is_explained && !can_tell)
    message += "; headers and padding are intact, so the data of some member changed";
  report.corrupt(FindingKind::kChecksum, std::move(message), "", Origin::kNoOffset);
  return {};
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_object(const std::string& name) {
  if (without_query(name).size() < name.size()) return open_url(name);
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos) {
    HR_TRY(const auto here, open_store("."));
    return here->open(name);
  }
  HR_TRY(const auto store, open_store(slash == 0 ? "/" : name.substr(0, slash)));
  return store->open(name.substr(slash + 1));
}

Status check_size(const KnownShard& shard, Findings& findings) {
  ShardReport report(findings, shard.number, shard.name);
  auto source = open_object(shard.name);
  if (source.ok())
    report_size(shard, (*source)->size(), report);
  else
    report.unreadable(std::move(source).error());
  return {};
}

Result<std::optional<uint64_t>> check_archive(const KnownShard& shard, Findings& findings,
                                              Progress& progress) {
  ShardReport report(findings, shard.number, shard.name);
  auto source = open_object(shard.name);
  if (!source.ok()) {
    report.unreadable(std::move(source).error());
    return std::optional<uint64_t>();
  }
  const bool same_size = (*source)->size() == shard.bytes;
  report_size(shard, (*source)->size(), report);
  if (!is_tar(shard.container)) {
    HR_TRY(const uint64_t xxh3, check_members(shard, std::move(*source), report, progress));
    return std::optional(xxh3);
  }
  HR_TRY(const auto archive,
         open_archive(std::move(*source), shard.container, shard.index.get(), report, progress));
  if (!archive) return std::optional<uint64_t>();

  // What the index speaks of: the object, or what it decodes to.
  KnownShard decoded = shard;
  if (is_compressed(shard.container))
    decoded.bytes = shard.index ? read_bytes(*shard.index, shard.bytes) : archive->bytes->size();
  const uint64_t size = archive->bytes->size();
  IndexComparison comparison(decoded, size, report);
  auto scanned = scan(
      *archive, progress,
      {.on_member = [&](const TarMember& member) { comparison.member(member); },
       .on_problem = [&](ScanProblem kind, Error e) { comparison.problem(kind, std::move(e)); },
       .next_header = [&](uint64_t offset) { return comparison.next_header(offset); }});
  if (!scanned.ok()) {
    if (scanned.error().code == Code::kInterrupted) return std::move(scanned).error();
    report.unreadable(std::move(scanned).error());
    return std::optional<uint64_t>();
  }
  comparison.finish();
  if (scanned->end && size >= decoded.bytes) report_end(*scanned->end, decoded.bytes, report);
  if (scanned->end && scanned->end->ending == TarEnding::kNoBlock && size == decoded.bytes)
    report.warn(FindingKind::kEnd, "no end-of-archive blocks", scanned->end->members_end);
  if (shard.xxh3 != 0 && scanned->xxh3 != shard.xxh3 && same_size)
    HR_CHECK(find_changed_payloads(shard, *archive->bytes, report, progress));
  return std::optional<uint64_t>(scanned->xxh3);
}

Status check_files(const Catalog& catalog, const KnownShard& shard, Findings& findings,
                   Progress& progress) {
  ShardReport report(findings, shard.number, shard.name);
  if (shard.index == nullptr) return {};
  for (uint32_t s = 0; s < shard.index->size(); ++s) {
    if (progress.stopped()) return Progress::interrupted();
    for (const IndexMember& member : shard.index->members(s)) {
      const std::string path(shard.index->object(member.object));
      auto source = catalog.open_file(path);
      if (!source.ok()) {
        report.unreadable(std::move(source).error().at({.member = path}));
        continue;
      }
      const uint64_t size = (*source)->size();
      progress.bytes += size;
      if (size != member.size)
        report.corrupt(size < member.size ? FindingKind::kTruncated : FindingKind::kSize,
                       "the file has " + std::to_string(size) + " bytes, the index says " +
                           std::to_string(member.size),
                       path, std::min(size, member.size));
    }
  }
  return {};
}

}  // namespace headrace
