// Pack: files on disk become a data set of shards.
//
//   sources -> files -> samples -> order -> shards       the plan: a pure function of the input
//   plan -> segments read in parallel -> shards written in order -> tables -> root
//
// The plan (inputs by path, size and time of change; options) has a digest. A destination remembers
// it, so the same command resumes what was stopped, and has nothing to do where it was finished.
// The same input and options give the same bytes whatever the threads.
// Thread-safety: one call at a time per destination; inputs are only read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/result.h"
#include "headrace/store.h"
#include "job/field_units.h"
#include "job/picture_options.h"
#include "job/progress.h"
#include "job/shard_record.h"

namespace headrace {

enum class OnDuplicate { kError, kFirst, kLast, kRename };
enum class OnMissing { kError, kWarn, kIgnore, kDropSample, kDropField };
enum class OnBadSample { kError, kSkip };
enum class LabelFrom { kNothing, kFolder, kParent };
enum class Folders { kIgnore, kKeep, kCollapse };

struct PackOptions {
  std::vector<std::string> sources;  ///< folders, files, `@list.txt`, `-` (a list on stdin)
  std::string out;                   ///< destination folder or URL
  std::string key_rule = "webdataset";
  /// kFolder: the first folder below the source; kParent: the folder that holds the file.
  LabelFrom label_from = LabelFrom::kNothing;
  bool hidden = false;  ///< also files whose names start with a dot
  OnDuplicate on_duplicate = OnDuplicate::kError;
  std::vector<std::string> fields;  ///< take only these; empty: all
  /// When a sample lacks one of `fields`, or, if these are empty, a field that others have.
  /// Nothing: kError with `fields`, kIgnore without.
  std::optional<OnMissing> on_missing;
  OnBadSample on_error = OnBadSample::kError;
  PictureOptions pictures;
  FieldUnits measures;  ///< what the index keeps beside bytes, for buckets by length

  /// At most, but for a sample that is larger alone; 0: no limit. Counted before pictures change.
  uint64_t shard_bytes = 0;
  uint64_t shard_samples = 0;  ///< at most; 0: no limit
  uint64_t shards = 0;         ///< exactly, of equal counts (fewer if there are fewer samples)
  std::optional<Container> container = {};  ///< of the shards; nothing: by `name`, else tar
  std::string name = {};  ///< template of their names; empty: "shard-%06d" and the container's end
  bool shuffle = false;
  uint64_t seed = 0;
  /// Of the keys: whether shards end where folders do (job/pack_cut.h).
  Folders folders = Folders::kIgnore;
  std::string key_map = {};    ///< location of a map from keys to names of shards, or ""
  bool drop_unmapped = false;  ///< samples that it does not name are left out

  unsigned threads = 0;  ///< 0: as many as there are processors
  uint64_t memory_bytes = uint64_t{256} << 20;
  std::string tool = "headrace";  ///< who writes, for the manifest
  bool replace = false;
  /// Add shards to the data set at `out`, as a new version of it. Its container is taken where none
  /// is named, and its classes have to be the same.
  bool append = false;
  bool fsync = true;
  bool verify = false;   ///< read the shards back before the commit
  bool dry_run = false;  ///< plan only; nothing is written
};

/// The size of a shard when nothing else is asked for.
inline constexpr uint64_t kDefaultShardBytes = uint64_t{256} << 20;

struct PackedShard {
  std::string name;
  uint64_t samples = 0;
  uint64_t bytes = 0;
};

struct PackReport {
  std::string plan;  ///< digest
  Container container = Container::kTar;
  uint64_t files = 0;
  uint64_t samples = 0;
  uint64_t payload_bytes = 0;
  uint64_t bytes = 0;  ///< of all shards
  std::vector<PackedShard> shards;
  std::vector<std::string> fields;
  std::vector<std::string> classes;
  std::vector<SkippedSample> skipped;  ///< at most kSkippedListed a shard
  uint64_t skipped_samples = 0;        ///< all of them,
  uint64_t corrupt_samples = 0;        ///< and those with a picture that cannot be decoded
  PictureReport pictures;
  uint64_t shards_resumed = 0;     ///< found finished
  bool complete_before = false;    ///< the destination held exactly this; nothing was done
  std::string fingerprint;         ///< of the data set; empty in a dry run
  std::vector<std::string> notes;  ///< lines for people: warnings and hints
};

/// Errors: kUsage (options, two files for one field), kNotFound (no such source), kChanged (an
/// input changed or vanished), kDenied, kNoSpace, kInterrupted (progress.stop; resumable).
Result<PackReport> pack(const PackOptions& options, Progress& progress);
/// The same into a store that is open; `asked.out` is only left out of the sources.
Result<PackReport> pack_to(Store& store, const PackOptions& asked, Progress& progress);

}  // namespace headrace
