// What no version of a data set needs any more, removed when it is old enough.
//
//   named by a version that is kept                     stays
//   an unfinished job is under way, or was stopped      nothing is removed at all
//   younger than the grace period, or of unknown age    stays
//   tables and roots of versions, shards in v-…/        removed
//   shards that only forgotten versions name            removed
//   anything else                                       stays: nobody knows whose it is
//
// Ages are by the file system's times; of buckets none is known, so nothing of them is removed yet.
// A clock that went back makes objects younger.
// Thread-safety: one at a time per data set.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "job/progress.h"

namespace headrace {

struct CollectOptions {
  std::string folder;  ///< of the data set, or URL
  /// Forget all but the newest versions; 0: keep all. The current one is always kept.
  uint64_t keep = 0;
  std::chrono::seconds grace = std::chrono::hours(24 * 7);
  bool abandon = false;  ///< give up an unfinished job: its marker and records go, at once
  bool dry_run = false;
};

struct CollectReport {
  std::vector<uint64_t> forgotten;  ///< numbers of versions
  std::vector<StoreEntry> removed;
  uint64_t removed_bytes = 0;
  uint64_t young_objects = 0;  ///< that would be removed when they are older
  uint64_t young_bytes = 0;
  bool abandoned = false;  ///< an unfinished job was given up
};

/// Errors: Code::kNotFound (no data set), kPartial (an unfinished job), kDenied.
Result<CollectReport> collect_garbage(const CollectOptions& options, Progress& progress);

}  // namespace headrace
