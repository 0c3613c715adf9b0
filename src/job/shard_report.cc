#include "job/shard_report.h"

namespace headrace {
namespace {

constexpr const char* kRestore = "Restore the shard from where it came from, or pack it again.";

}  // namespace

void ShardReport::add(Severity severity, FindingKind kind, Error error) {
  any_ = any_ || severity == Severity::kError;
  if (error.hint.empty() && severity == Severity::kError) error.hint = kRestore;
  findings_.add(order_, {severity, kind, std::move(error).at({.shard = shard_})});
}

void ShardReport::corrupt(FindingKind kind, std::string message, std::string member,
                          uint64_t offset) {
  add(Severity::kError, kind,
      {.code = Code::kCorrupt,
       .message = std::move(message),
       .origin = {.member = std::move(member), .offset = offset}});
}

void ShardReport::warn(FindingKind kind, std::string message, uint64_t offset) {
  add(Severity::kWarning, kind,
      {.code = Code::kCorrupt, .message = std::move(message), .origin = {.offset = offset}});
}

void ShardReport::unreadable(Error error) {
  const bool missing = error.code == Code::kNotFound;
  add(Severity::kError, missing ? FindingKind::kMissing : FindingKind::kUnreadable,
      std::move(error));
}

}  // namespace headrace
