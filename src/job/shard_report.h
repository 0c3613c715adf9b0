// Adds the findings of one shard to those of all.
// Borrows what it is made of. Thread-safety: thread-compatible; several may share the findings.
#pragma once

#include <string>
#include <string_view>

#include "io/urls.h"
#include "job/findings.h"

namespace headrace {

class ShardReport {
 public:
  /// `shard`: its path or address.
  ShardReport(Findings& findings, uint32_t number, std::string_view shard)
      : findings_(findings), order_(Findings::kFirstShard + number), shard_(without_query(shard)) {}

  void add(Severity severity, FindingKind kind, Error error);
  void corrupt(FindingKind kind, std::string message, std::string member, uint64_t offset);
  void warn(FindingKind kind, std::string message, uint64_t offset);
  /// Missing, or whatever else keeps it from being read.
  void unreadable(Error error);
  bool any_error() const { return any_; }

 private:
  Findings& findings_;
  const uint64_t order_;
  const std::string shard_;
  bool any_ = false;
};

}  // namespace headrace
