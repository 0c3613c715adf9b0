// copy: a data set, or any tree of objects, from one store into another.
//
// A data set is known by its manifest: what it names is copied, each object checked against the
// manifest's checksum while it is copied, the manifest last. So readers of the destination see the
// whole or nothing, a copy that was stopped goes on where it was, and one that is finished has
// nothing to do. Without a manifest every object below the prefix is copied; those that are there
// with the same size are taken for the same.
#pragma once

#include <cstdint>
#include <string>

#include "headrace/result.h"
#include "job/progress.h"

namespace headrace {

struct CopyOptions {
  std::string source;
  std::string destination;
  std::string transform = {};  ///< a rule for the names (job/name_rule.h); empty: they stay
  unsigned threads = 0;        ///< objects at once; 0: 8
  bool fsync = true;
  bool dry_run = false;  ///< find out what there is to do, and write nothing
};

struct CopyReport {
  bool has_manifest = false;
  uint64_t objects = 0;  ///< in all
  uint64_t bytes = 0;
  uint64_t copied_objects = 0;  ///< or, in a dry run, to be copied
  uint64_t copied_bytes = 0;
};

/// Errors: Code::kUsage for a destination that holds something else, Code::kCorrupt for an object
/// that is not what the manifest says (nothing of it is left behind), and those of the stores.
Result<CopyReport> copy(const CopyOptions& options, Progress& progress);

}  // namespace headrace
