// One task of `index`: the record of one shard.
#pragma once

#include <string>
#include <vector>

#include "format/key_rule.h"
#include "format/shard_index.h"
#include "headrace/store.h"
#include "job/progress.h"
#include "job/shard_record.h"

namespace headrace {

struct IndexedShard {
  ShardRecord record;
  std::vector<Error> warnings;
};

/// Reads the shard `name` of `store`: all of it with `checksum` or when it is compressed, else only
/// its headers. An archive without an end mark is an error unless `lenient`.
Result<IndexedShard> index_one_shard(const Store& store, const std::string& name,
                                     const KeyRule& rule, bool checksum, bool lenient,
                                     Progress& progress);

/// Counts, fields, block size and section of a record from its index; `record.bytes` is known.
void fill_record(const ShardIndexBuilder& builder, ShardRecord& record);
/// The summary of every field of an index.
std::vector<FieldSummary> summarise(const ShardIndex& index);

}  // namespace headrace
