// Compares the members of a tar archive with its index, as a scan finds them.
//
//   archive   [a.jpg][a.cls][b.jpg]  ?????  [d.jpg]     what the scan finds
//   index      a.jpg  a.cls  b.jpg   c.jpg   d.jpg      what should be there
//                                    lost, or unreadable
//
// Borrows what it is made of. Thread-safety: thread-compatible.
#pragma once

#include <optional>
#include <string>

#include "format/tar_parser.h"
#include "job/archive_scan.h"
#include "job/index_cursor.h"
#include "job/shard_report.h"
#include "job/verify_shard.h"

namespace headrace {

class IndexComparison {
 public:
  /// `size`: that the archive has, whatever the manifest says.
  IndexComparison(const KnownShard& shard, uint64_t size, ShardReport& report)
      : shard_(shard), size_(size), report_(report), cursor_(shard.index.get()) {}

  void member(const TarMember& member);
  void problem(ScanProblem kind, Error error);
  /// The first sample that begins behind `offset`; what lies before cannot be checked.
  std::optional<uint64_t> next_header(uint64_t offset);
  /// Reports what was lost.
  void finish();

 private:
  /// The index has a member here, the archive has not.
  void lose();
  void extra(const TarMember& member);
  /// Packed members are named after key and field; others gave them by the rule.
  bool same_name(const std::string& name);
  std::string name_behind(uint64_t offset) const;

  const KnownShard& shard_;
  const uint64_t size_;
  ShardReport& report_;
  IndexCursor cursor_;
  KeyField split_;
  uint64_t blind_until_ = 0;
  uint64_t lost_ = 0;
  std::string lost_name_;
  uint64_t lost_offset_ = 0;
};

}  // namespace headrace
