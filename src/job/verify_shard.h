// The part of verify that looks at one shard.
// Thread-safety: functions may run on many threads at once; each call touches only its arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dataset/catalog.h"
#include "format/key_rule.h"
#include "format/shard_index.h"
#include "headrace/result.h"
#include "job/findings.h"
#include "job/progress.h"

namespace headrace {

/// What a manifest knows of a shard.
struct KnownShard {
  uint32_t number = 0;
  Container container = Container::kTar;
  std::string name = {};                         ///< full path or URL
  uint64_t bytes = 0;                            ///< of the object
  uint64_t xxh3 = 0;                             ///< 0: unknown
  KeyRule rule = {};                             ///< that gave members their key and field
  std::shared_ptr<const ShardIndex> index = {};  ///< nullptr: damaged
};

/// Size only. The shard may be missing.
Status check_size(const KnownShard& shard, Findings& findings);

/// Every byte. Returns the XXH3 that the shard has, or nothing if it cannot be read to its end.
Result<std::optional<uint64_t>> check_archive(const KnownShard& shard, Findings& findings,
                                              Progress& progress);

/// The structure of an archive that no manifest knows, and its samples for the look at the keys.
Result<ShardIndexBuilder> check_unknown_archive(uint32_t number, const std::string& name,
                                                const KeyRule& rule, Findings& findings,
                                                Progress& progress);

/// The files of a virtual shard of loose files: there, and of their size.
Status check_files(const Catalog& catalog, const KnownShard& shard, Findings& findings,
                   Progress& progress);

/// Opens an object by its full name.
Result<std::unique_ptr<ByteSource>> open_object(const std::string& name);

}  // namespace headrace
