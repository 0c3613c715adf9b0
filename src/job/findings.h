// What verify found, collected from many threads and put in order.
//
// Thread-safety: add() from any thread; take() when they are done.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "headrace/result.h"

namespace headrace {

enum class Severity { kWarning, kError };

/// What kind of damage. Names in `finding_name`; stable, for programs.
enum class FindingKind {
  kManifest,     ///< the root manifest, or tables that contradict it
  kTable,        ///< a table is not what the root's digest says
  kIndex,        ///< an index section, or places that are not the archive's
  kMissing,      ///< a shard, file or table is not there
  kUnreadable,   ///< it is there and cannot be read
  kSize,         ///< longer than the manifest says
  kTruncated,    ///< shorter than the manifest or its own headers say
  kChecksum,     ///< bytes differ from those that were indexed
  kHeader,       ///< a member's header
  kPadding,      ///< bytes between members that must be zero
  kEnd,          ///< end-of-archive blocks, bytes behind them
  kDuplicate,    ///< a key that several samples have
  kUnexpected,   ///< an object that the manifest does not know
  kUnprotected,  ///< no manifest: some damages cannot be seen
};

const char* finding_name(FindingKind kind);

struct Finding {
  Severity severity = Severity::kError;
  FindingKind kind = FindingKind::kManifest;
  Error error;  ///< code, message, shard, member, offset, hint
};

class Findings {
 public:
  explicit Findings(uint64_t limit) : limit_(limit) {}

  /// `order` puts findings of one shard together.
  void add(uint64_t order, Finding finding);

  /// Sorted by order, then by offset. Leaves the collection empty.
  std::vector<Finding> take();
  uint64_t errors() const { return errors_; }
  uint64_t warnings() const { return warnings_; }
  /// The code of the process: kCorrupt if any error has it, else that of the first error.
  Code worst() const { return worst_; }

  static constexpr uint64_t kTables = 0;           ///< orders: before the shards,
  static constexpr uint64_t kFirstShard = 1;       ///< shard number s is kFirstShard + s,
  static constexpr uint64_t kLast = ~uint64_t{0};  ///< and behind them

 private:
  struct Entry {
    uint64_t order;
    Finding finding;
  };

  const uint64_t limit_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t errors_ = 0;
  uint64_t warnings_ = 0;
  Code worst_ = Code::kFailure;
};

}  // namespace headrace
