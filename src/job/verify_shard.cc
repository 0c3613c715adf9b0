#include "job/verify_shard.h"

#include <algorithm>

#include "base/try.h"
#include "format/tar_fields.h"
#include "job/archive_scan.h"

namespace headrace {
namespace {

constexpr const char* kRestore = "Restore the shard from where it came from, or pack it again.";

/// The members of an index in archive order, one after the other.
class Cursor {
 public:
  explicit Cursor(const ShardIndex* index) : index_(index) { skip_empty(); }

  bool at_end() const { return index_ == nullptr || sample_ == index_->size(); }
  const IndexMember& member() const { return index_->members(sample_)[position_]; }
  std::string_view key() const { return index_->key(sample_); }
  uint32_t sample() const { return sample_; }
  std::string name() const {
    const std::string& field = index_->fields()[member().field];
    return std::string(key()) + (field.empty() ? "" : "." + field);
  }
  void next() {
    ++position_;
    skip_empty();
  }

 private:
  void skip_empty() {
    while (!at_end() && position_ == index_->members(sample_).size()) {
      ++sample_;
      position_ = 0;
    }
  }

  const ShardIndex* index_;
  uint32_t sample_ = 0;
  size_t position_ = 0;
};

/// Adds findings of one shard.
class Reporter {
 public:
  Reporter(Findings& findings, uint32_t number, const std::string& shard)
      : findings_(findings), order_(Findings::kFirstShard + number), shard_(shard) {}

  void add(Severity severity, FindingKind kind, Error error) {
    any_ = any_ || severity == Severity::kError;
    if (error.hint.empty() && severity == Severity::kError) error.hint = kRestore;
    findings_.add(order_, {severity, kind, std::move(error).at({.shard = shard_})});
  }
  void corrupt(FindingKind kind, std::string message, std::string member, uint64_t offset) {
    add(Severity::kError, kind,
        {.code = Code::kCorrupt,
         .message = std::move(message),
         .origin = {.member = std::move(member), .offset = offset}});
  }
  void warn(FindingKind kind, std::string message, uint64_t offset) {
    add(Severity::kWarning, kind,
        {.code = Code::kCorrupt, .message = std::move(message), .origin = {.offset = offset}});
  }
  void unreadable(Error error) {
    const bool missing = error.code == Code::kNotFound;
    add(Severity::kError, missing ? FindingKind::kMissing : FindingKind::kUnreadable,
        std::move(error));
  }
  bool any_error() const { return any_; }

 private:
  Findings& findings_;
  const uint64_t order_;
  const std::string& shard_;
  bool any_ = false;
};

/// A shard that is shorter than its manifest says: what is lost, from where on.
void report_cut(const KnownShard& shard, uint64_t size, Reporter& report) {
  std::string message = "cut off: " + std::to_string(size) + " of " + std::to_string(shard.bytes) +
                        " bytes are there";
  std::string member;
  if (shard.index != nullptr && shard.index->is_archive()) {
    Cursor cursor(shard.index.get());
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

void report_size(const KnownShard& shard, uint64_t size, Reporter& report) {
  if (size < shard.bytes) report_cut(shard, size, report);
  if (size > shard.bytes)
    report.corrupt(FindingKind::kSize,
                   std::to_string(size - shard.bytes) + " bytes more than the manifest says", "",
                   shard.bytes);
}

/// What is odd about an archive's end but loses nothing.
void report_end(const TarEnd& end, uint64_t limit, Reporter& report) {
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

/// Compares the members of an archive with its index as they come.
class Comparison {
 public:
  Comparison(const KnownShard& shard, uint64_t size, Reporter& report)
      : shard_(shard), size_(size), report_(report), cursor_(shard.index.get()) {}

  void member(const TarMember& member) {
    if (shard_.index == nullptr || member.type != TarType::kRegular) return;
    while (!cursor_.at_end() && cursor_.member().offset < member.data_offset) lose();
    if (cursor_.at_end() || cursor_.member().offset > member.data_offset) return extra(member);
    if (cursor_.member().size != member.size)
      report_.corrupt(FindingKind::kIndex,
                      "the member has " + std::to_string(member.size) + " bytes, the index says " +
                          std::to_string(cursor_.member().size),
                      member.name, member.header_offset);
    if (!same_name(member.name))
      report_.corrupt(FindingKind::kIndex, "the index has '" + cursor_.name() + "' at this place",
                      member.name, member.header_offset);
    cursor_.next();
  }

  void problem(ScanProblem kind, Error error) {
    const uint64_t offset = error.origin.offset;
    const bool cut = size_ < shard_.bytes && offset + kTarBlock > size_;
    const bool behind = size_ > shard_.bytes && offset >= shard_.bytes;
    if (cut || behind) return;  // the size has been reported
    if (error.origin.member.empty()) error.origin.member = name_behind(offset);
    report_.add(Severity::kError,
                kind == ScanProblem::kPadding ? FindingKind::kPadding : FindingKind::kHeader,
                std::move(error));
  }

  /// The first sample that begins behind `offset`; what lies before cannot be checked.
  std::optional<uint64_t> next_header(uint64_t offset) {
    blind_until_ = ~uint64_t{0};
    if (shard_.index == nullptr) return std::nullopt;
    const ShardIndex& index = *shard_.index;
    uint32_t low = 0, high = index.size();
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (index.sample_begin(middle) > offset)
        high = middle;
      else
        low = middle + 1;
    }
    if (low == index.size()) return std::nullopt;
    blind_until_ = index.sample_begin(low);
    return blind_until_;
  }

  void finish() {
    while (!cursor_.at_end()) lose();
    if (lost_ == 0) return;
    report_.corrupt(FindingKind::kIndex,
                    "no member begins where the index has one; " + std::to_string(lost_) +
                        " such places in this shard",
                    lost_name_, lost_offset_);
  }

 private:
  /// The index has a member here, the archive has not.
  void lose() {
    const IndexMember& member = cursor_.member();
    const bool cut = size_ < shard_.bytes && member.offset + member.size > size_;
    if (!cut && member.offset >= blind_until_ && lost_++ == 0) {
      lost_name_ = cursor_.name();
      lost_offset_ = member.offset;
    }
    cursor_.next();
  }

  void extra(const TarMember& member) {
    const auto taken = shard_.rule.split(member.name, split_);
    if (!taken.ok() || !*taken) return;
    report_.warn(FindingKind::kIndex,
                 "a member that the index does not have: '" + member.name + "'",
                 member.header_offset);
  }

  /// Packed members are named after key and field; others gave them by the rule.
  bool same_name(const std::string& name) {
    if (name == cursor_.name()) return true;
    const auto taken = shard_.rule.split(name, split_);
    return taken.ok() && *taken && split_.key == cursor_.key() &&
           split_.field == shard_.index->fields()[cursor_.member().field];
  }

  std::string name_behind(uint64_t offset) const {
    Cursor cursor = cursor_;
    while (!cursor.at_end() && cursor.member().offset <= offset) cursor.next();
    return cursor.at_end() ? std::string() : cursor.name();
  }

  const KnownShard& shard_;
  const uint64_t size_;
  Reporter& report_;
  Cursor cursor_;
  KeyField split_;
  uint64_t blind_until_ = 0;
  uint64_t lost_ = 0;
  std::string lost_name_;
  uint64_t lost_offset_ = 0;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_object(const std::string& name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos) {
    HR_TRY(const auto here, open_store("."));
    return here->open(name);
  }
  HR_TRY(const auto store, open_store(slash == 0 ? "/" : name.substr(0, slash)));
  return store->open(name.substr(slash + 1));
}

Status check_size(const KnownShard& shard, Findings& findings) {
  Reporter report(findings, shard.number, shard.name);
  auto source = open_object(shard.name);
  if (source.ok())
    report_size(shard, (*source)->size(), report);
  else
    report.unreadable(std::move(source).error());
  return {};
}

Result<std::optional<uint64_t>> check_archive(const KnownShard& shard, Findings& findings,
                                              Progress& progress) {
  Reporter report(findings, shard.number, shard.name);
  auto source = open_object(shard.name);
  if (!source.ok()) {
    report.unreadable(std::move(source).error());
    return std::optional<uint64_t>();
  }
  const uint64_t size = (*source)->size();
  report_size(shard, size, report);
  Comparison comparison(shard, size, report);
  auto scan = scan_archive(
      **source, progress,
      {.on_member = [&](const TarMember& member) { comparison.member(member); },
       .on_problem = [&](ScanProblem kind, Error e) { comparison.problem(kind, std::move(e)); },
       .next_header = [&](uint64_t offset) { return comparison.next_header(offset); }});
  if (!scan.ok()) {
    if (scan.error().code == Code::kInterrupted) return std::move(scan).error();
    report.unreadable(std::move(scan).error());
    return std::optional<uint64_t>();
  }
  comparison.finish();
  if (scan->end && size >= shard.bytes) report_end(*scan->end, shard.bytes, report);
  if (scan->end && scan->end->ending == TarEnding::kNoBlock && size == shard.bytes)
    report.warn(FindingKind::kEnd, "no end-of-archive blocks", scan->end->members_end);
  if (shard.xxh3 != 0 && scan->xxh3 != shard.xxh3 && size == shard.bytes)
    report.corrupt(FindingKind::kChecksum,
                   report.any_error()
                       ? "the bytes are not those that were indexed"
                       : "the bytes are not those that were indexed; headers and padding are "
                         "intact, so the data of some member changed",
                   "", Origin::kNoOffset);
  return std::optional<uint64_t>(scan->xxh3);
}

Result<ShardIndexBuilder> check_unknown_archive(uint32_t number, const std::string& name,
                                                const KeyRule& rule, Findings& findings,
                                                Progress& progress) {
  Reporter report(findings, number, name);
  ShardIndexBuilder samples;
  auto source = open_object(name);
  if (!source.ok()) {
    report.unreadable(std::move(source).error());
    return samples;
  }
  const uint64_t size = (*source)->size();
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
  auto scan = scan_archive(**source, progress,
                           {.on_member = take, .on_problem = problem, .next_header = [](uint64_t) {
                              return std::optional<uint64_t>();
                            }});
  if (!scan.ok()) {
    if (scan.error().code == Code::kInterrupted) return std::move(scan).error();
    report.unreadable(std::move(scan).error());
    return samples;
  }
  if (size == 0)
    report.corrupt(FindingKind::kTruncated,
                   "an empty object: even an archive without members has 1024 bytes", "", 0);
  else if (scan->end && scan->end->ending == TarEnding::kNoBlock)
    report.warn(FindingKind::kEnd,
                "no end-of-archive blocks: it may have been cut off between two members",
                scan->end->members_end);
  if (scan->end) report_end(*scan->end, size, report);
  return samples;
}

Status check_files(const Catalog& catalog, const KnownShard& shard, Findings& findings,
                   Progress& progress) {
  Reporter report(findings, shard.number, shard.name);
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
