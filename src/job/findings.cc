#include "job/findings.h"

#include <algorithm>
#include <utility>

namespace headrace {

const char* finding_name(FindingKind kind) {
  switch (kind) {
    case FindingKind::kManifest:
      return "manifest";
    case FindingKind::kTable:
      return "table";
    case FindingKind::kIndex:
      return "index";
    case FindingKind::kMissing:
      return "missing";
    case FindingKind::kUnreadable:
      return "unreadable";
    case FindingKind::kSize:
      return "size";
    case FindingKind::kTruncated:
      return "truncated";
    case FindingKind::kChecksum:
      return "checksum";
    case FindingKind::kHeader:
      return "header";
    case FindingKind::kPadding:
      return "padding";
    case FindingKind::kEnd:
      return "end";
    case FindingKind::kDuplicate:
      return "duplicate_key";
    case FindingKind::kUnexpected:
      return "unexpected";
    case FindingKind::kUnprotected:
      return "unprotected";
  }
  return "manifest";
}

void Findings::add(uint64_t order, Finding finding) {
  const std::lock_guard lock(mutex_);
  if (finding.severity == Severity::kWarning) {
    ++warnings_;
  } else {
    if (errors_ == 0 || finding.error.code == Code::kCorrupt) worst_ = finding.error.code;
    ++errors_;
  }
  if (entries_.size() < limit_) entries_.push_back({order, std::move(finding)});
}

std::vector<Finding> Findings::take() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    // Errors without an offset concern the whole object and come first.
    const auto place = [](const Entry& e) { return e.finding.error.origin.offset + 1; };
    return std::pair(a.order, place(a)) < std::pair(b.order, place(b));
  });
  std::vector<Finding> findings;
  findings.reserve(entries_.size());
  for (Entry& entry : entries_) findings.push_back(std::move(entry.finding));
  entries_.clear();
  return findings;
}

}  // namespace headrace
