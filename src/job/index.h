// Index: shards that others wrote, or loose files, get a manifest, in place or elsewhere.
//
// Shards are read whole once (for their checksums), several at a time; loose files are only listed.
// Nothing that is there is touched. Run again after shards were added or changed, only these are
// read. A damaged shard is refused, and all of them are named before anything is written.
// Thread-safety: one call at a time per destination.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/result.h"
#include "job/pack.h"
#include "job/progress.h"
#include "plan/manifest.h"

namespace headrace {

enum class IndexKind { kAuto, kShards, kFiles };

struct IndexOptions {
  std::vector<std::string> sources;   ///< one folder, or shards (brace ranges, globs, `@list`)
  std::string out;                    ///< where the manifest goes; empty: beside the shards
  IndexKind kind = IndexKind::kAuto;  ///< kAuto: shards if there are any
  std::string key_rule = "webdataset";
  bool checksums = true;  ///< shards: read them whole; false: only headers
  bool lenient = false;   ///< shards: take archives without an end mark (they may be cut)
  // Loose files: as for pack.
  bool hidden = false;
  std::vector<std::string> fields;
  std::optional<OnMissing> on_missing;
  OnDuplicate on_duplicate = OnDuplicate::kError;

  std::string tool = "headrace";
  unsigned threads = 0;
  uint64_t memory_bytes = uint64_t{256} << 20;
  bool replace = false;
  bool fsync = true;
  bool dry_run = false;
};

struct IndexReport {
  Container container = Container::kTar;
  std::string folder;  ///< where the shards or files are
  std::string out;
  uint64_t shards = 0;
  uint64_t shards_reused = 0;  ///< unchanged since the manifest that was there
  uint64_t samples = 0;
  uint64_t bytes = 0;
  std::vector<Error> findings;  ///< why shards were refused: then nothing was published
  std::vector<std::string> notes;
  std::string fingerprint;
  bool complete_before = false;
};

/// Findings are in the report, not an error: the caller exits with Code::kCorrupt when there are
/// any. Errors as of pack().
Result<IndexReport> index_dataset(const IndexOptions& options, Progress& progress);

/// Virtual shards of loose files: consecutive samples, at most so many and about so many bytes.
inline constexpr uint32_t kVirtualShardSamples = 1000;
inline constexpr uint64_t kVirtualShardBytes = uint64_t{256} << 20;

}  // namespace headrace
