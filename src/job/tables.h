// The tables of a data set, made from the records of its shards: index files, key table, places,
// shard table. Each lies under a name made of its own digest, so it never changes under its name.
//
// Memory: records are read as needed and kept while they are few; the key table is made in as many
// passes over ranges of the hash as the bound asks for.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <functional>

#include "headrace/store.h"
#include "job/progress.h"
#include "job/shard_record.h"
#include "plan/manifest.h"

namespace headrace {

/// The record of task k; asked for several times.
using RecordReader = std::function<Result<ShardRecord>(uint64_t task)>;

/// Writes the tables and returns `facts` with counts, fields and tables filled in.
Result<Manifest> write_tables(Store& store, Manifest facts, uint64_t tasks,
                              const RecordReader& read, uint64_t memory_bytes,
                              const Progress& progress);

}  // namespace headrace
