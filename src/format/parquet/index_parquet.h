// Indexes a Parquet file: a row is a sample, and its fields are those of Rows.
//
// All of it is decoded, once, for sizes are not written anywhere. A row group is a frame; the index
// has the CRC-32 of what it decodes to, since pages need not have one of their own.
// Thread-safety: a pure function; `read` is called from its thread.
#pragma once

#include <string>
#include <string_view>

#include "format/index_archive.h"

namespace headrace {

/// `shard` is the object's name in messages. Keys are `<stem>/<row>`, the row in eight digits: a
/// table has no keys of its own. Errors: those of read_footer() and Rows::decode().
Result<IndexedArchive> index_parquet(const std::string& shard, std::string_view stem,
                                     uint64_t object_size, const ReadAt& read);

}  // namespace headrace
