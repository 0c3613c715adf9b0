// Verify: everything that is known of a data set against everything that is there, in one parallel
// pass, with all findings and not just the first.
//
//   headrace.json -> tables (SHA-256) -> index sections (XXH3) -> shards: size, XXH3, each header,
//   each member's place, padding, end -> keys over all shards -> objects that nobody named
//
// Without a manifest only the structure is left to check, and the report says so: a shard that was
// cut exactly between two members then looks whole.
// Thread-safety: reads only; any number of calls at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/result.h"
#include "job/findings.h"
#include "job/progress.h"

namespace headrace {

struct VerifyOptions {
  std::vector<std::string> locations;
  std::string key_rule = "webdataset";  ///< of shards without a manifest
  bool quick = false;                   ///< tables and sizes only; no shard is read
  unsigned threads = 0;                 ///< 0: as many as there are processors
  uint64_t max_findings = 1000;         ///< listed; all are counted
};

struct VerifyReport {
  bool has_manifest = false;
  uint64_t shards = 0;
  uint64_t samples = 0;
  uint64_t bytes = 0;  ///< read
  uint64_t errors = 0;
  uint64_t warnings = 0;
  Code worst = Code::kFailure;  ///< meaningful if errors > 0
  std::vector<Finding> findings;
};

/// Damages are findings. An error is what kept verify from looking: nothing at the location
/// (kNotFound), bad options (kUsage), stopped (kInterrupted).
Result<VerifyReport> verify(const VerifyOptions& options, Progress& progress);

}  // namespace headrace
