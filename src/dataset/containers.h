// The containers that shards come in, by their names, and what lies behind a compressed one.
//
// Thread-safety: pure functions; what they return may be used from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/frame_map.h"
#include "format/index_archive.h"
#include "format/shard_index.h"
#include "headrace/store.h"
#include "plan/manifest.h"

namespace headrace {

/// The container of a shard by the end of its name or address; nothing: this is no shard.
std::optional<Container> container_of(std::string_view path);

/// What the names of such shards end in, as ".tar.zst". Precondition: not kFiles.
std::string_view container_suffix(Container container);

/// The one container of all these shards; Code::kUsage, naming two of them, if there are several.
Result<Container> common_container(const std::vector<std::string>& paths);

/// How many bytes of an archive readers see: its own, or decoded. `object_bytes`: its object's.
inline uint64_t read_bytes(const ShardIndex& index, uint64_t object_bytes) {
  return index.frames() ? index.frames()->decoded_size() : object_bytes;
}

/// B of a shard (plan/shard_table.h). That of a Parquet file is so many rows that blocks are whole
/// row groups, as long as these have equally many: each is fetched and decoded as a whole.
uint32_t block_samples(const ShardIndex& index, uint64_t object_bytes);

/// How a compressed tar is packed: as others write it, and the frames that we write (in a zip,
/// too). kStored for a plain one.
Encoding container_encoding(Container container);
Encoding frame_encoding(Container container);

/// Whether reads have to decompress.
inline bool is_compressed(Container container) {
  return container != Container::kTar && container != Container::kFiles;
}

/// Whether what readers see is a tar.
inline bool is_tar(Container container) {
  return container != Container::kFiles && container != Container::kZip &&
         container != Container::kParquet;
}

/// Code::kUsage for a container that is read alone.
Status check_is_written(Container container);

/// An archive as its index sees it: the bytes of the tar, and how they are packed.
struct ArchiveView {
  std::shared_ptr<const ByteSource> bytes;
  FrameMap frames;  ///< empty: not at all
};

/// Looks through a compressed archive for its frames; a plain one is as it is. `read` reads from
/// `object` and is called with rising offsets (for progress and checksums).
Result<ArchiveView> view_archive(std::shared_ptr<const ByteSource> object, Container container,
                                 const ReadAt& read);

/// Indexes an archive of any container, frames included. `name`: its path in the data set, which
/// the keys of a table's rows begin with.
Result<IndexedArchive> index_container(const std::shared_ptr<const ByteSource>& object,
                                       Container container, std::string_view name,
                                       const KeyRule& rule, const ReadAt& read);

}  // namespace headrace
