#include <algorithm>

#include "base/try.h"
#include "dataset/containers.h"
#include "format/tar_fields.h"
#include "job/open_archive.h"
#include "job/verify_members.h"
#include "job/verify_shard.h"

namespace headrace {

Result<ShardIndexBuilder> check_unknown_archive(uint32_t number, const std::string& name,
                                                const KeyRule& rule, Findings& findings,
                                                Progress& progress) {
  ShardReport report(findings, number, name);
  ShardIndexBuilder samples;
  auto source = open_object(name);
  if (!source.ok()) {
    report.unreadable(std::move(source).error());
    return samples;
  }
  const Container container = container_of(name).value_or(Container::kTar);
  if (!is_tar(container)) {
    progress.bytes += (*source)->size();
    HR_TRY(auto archive, read_members(std::move(*source), container, rule, report, progress));
    return archive ? std::move(archive->builder) : std::move(samples);
  }
  HR_TRY(const auto archive,
         open_archive(std::move(*source), container, nullptr, report, progress));
  if (!archive) return samples;
  const uint64_t size = archive->bytes->size();
  KeyField split;
  std::string key;
  const auto take = [&](const TarMember& member) {
    if (member.type != TarType::kRegular) return;
    const auto taken = rule.split(member.name, split);
    if (!taken.ok() || !*taken) return;
    if (samples.size() == 0 || split.key != key) {
      samples.add_sample(split.key, member.header_offset);
      key = split.key;
    }
    samples.add_member(split.field, member.data_offset, member.size);
    samples.end_sample(member.end_offset);
    const auto fields = samples.index().members(samples.size() - 1);
    const auto same = [&](const IndexMember& m) { return m.field == fields.back().field; };
    if (std::ranges::count_if(fields, same) > 1)
      report.corrupt(FindingKind::kDuplicate,
                     "the field '" + split.field + "' comes twice in the sample '" + key + "'",
                     member.name, member.header_offset);
  };
  const auto problem = [&](ScanProblem kind, Error error) {
    FindingKind found =
        kind == ScanProblem::kPadding ? FindingKind::kPadding : FindingKind::kHeader;
    if (error.origin.offset + kTarBlock > size) found = FindingKind::kTruncated;
    report.add(Severity::kError, found, std::move(error));
  };
  auto scanned = scan(*archive, progress,
                      {.on_member = take, .on_problem = problem, .next_header = [](uint64_t) {
                         return std::optional<uint64_t>();
                       }});
  if (!scanned.ok()) {
    if (scanned.error().code == Code::kInterrupted) return std::move(scanned).error();
    report.unreadable(std::move(scanned).error());
    return samples;
  }
  if (size == 0)
    report.corrupt(FindingKind::kTruncated,
                   "an empty object: even an archive without members has 1024 bytes", "", 0);
  else if (scanned->end && scanned->end->ending == TarEnding::kNoBlock)
    report.warn(FindingKind::kEnd,
                "no end-of-archive blocks: it may have been cut off between two members",
                scanned->end->members_end);
  if (scanned->end) report_end(*scanned->end, size, report);
  return samples;
}

}  // namespace headrace
