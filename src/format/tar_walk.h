// Walks over every member of a tar archive that can be read by ranges.
//
// Headers are read through one window. It grows while many headers lie in it, so that an archive of
// small members is read in few large pieces, and shrinks to a page where members are large, so that
// only headers are read. Memory: at most 1 MiB + 512 bytes.
// Thread-safety: pure functions; `read` and `on_member` are called from the calling thread.
#pragma once

#include <cstdint>
#include <functional>

#include "format/tar_parser.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// Fills `into` with the object's bytes from `offset` on.
using ReadAt = std::function<Status(uint64_t offset, MutableBytes into)>;
/// An error ends the walk and is passed on.
using OnMember = std::function<Status(const TarMember&)>;

/// Calls `on_member` for every member in archive order, of whatever type.
Result<TarEnd> for_each_member(uint64_t object_size, const ReadAt& read, const OnMember& on_member);

/// The same for an archive in memory; nothing is copied.
Result<TarEnd> for_each_member(ByteView object, const OnMember& on_member);

}  // namespace headrace
