// The manifest of a data set: `headrace.json` (the root) and the tables that it names.
//
//   headrace.json                      read first, written last; readable by eye
//   _headrace/shards-<id>.bin          ShardTable: samples, block_samples, bytes by columns
//   _headrace/places-<id>.bin          one fixed-size ShardPlace a shard, then the shard names
//   _headrace/index-<id>-<k>.bin       index sections of the shards, one after the other
//   _headrace/keys-<id>.bin            KeyEntry sorted by hash: the look-up by key
//
// <id> is the first 16 digits of the table's SHA-256, so a table never changes under its name.
// Everything here is pure: bytes in, values out. docs/format.md describes every byte.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/measure.h"
#include "headrace/bytes.h"
#include "headrace/result.h"
#include "plan/shard_table.h"

namespace headrace {

inline constexpr const char* kManifestName = "headrace.json";
inline constexpr const char* kTableFolder = "_headrace";
/// The marker of a job under way. A folder with it and without a root is half a data set: readers
/// refuse it. With a root, readers see the old version until the job replaces the root.
inline constexpr const char* kPendingName = "_headrace/pending.json";

/// A file that the root names: path relative to the root, exact size, SHA-256 (hexadecimal).
struct TableFile {
  std::string path;
  uint64_t bytes = 0;
  std::string sha256;
};

/// What is known of one field over the whole data set. Sizes in bytes of payload.
struct FieldSummary {
  std::string name;
  uint64_t count = 0;  ///< samples that have it
  uint64_t bytes = 0;
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
  Unit unit = Unit::kNone;  ///< what all members were measured in, by the indexes of the shards
};

/// What shards are: archives of one kind, or runs of loose files.
enum class Container { kTar, kFiles, kTarGz, kTarLz4, kTarZst, kZip, kParquet };

/// As the manifest and the command line have it: "tar", "files", "tar.gz" …
const char* container_name(Container container);

struct Manifest {
  Container container = Container::kTar;
  uint64_t samples = 0;
  uint64_t shards = 0;
  uint64_t bytes = 0;  ///< of all shards
  std::string base;    ///< where the shards are if not beside the root (path or URL); else empty
  std::vector<FieldSummary> fields;
  std::vector<std::string> classes;  ///< class name of label i; empty without labels
  TableFile shard_table;
  TableFile place_table;
  TableFile key_table;
  std::vector<TableFile> index_files;
  std::string tool;    ///< who wrote it, as "headrace 0.1.0"
  std::string recipe;  ///< JSON of the job's options, for people; may be empty

  /// The identity of the data: SHA-256 over the hashes of the tables and the classes.
  std::string fingerprint() const;
};

std::string encode_manifest(const Manifest& manifest);
/// `path` is the manifest's own, for messages. Checks everything that the JSON alone can prove:
/// types, totals, sizes of tables, paths that stay below _headrace/, the fingerprint. Errors name
/// the place in the JSON ("fields[2].bytes"). A newer format is Code::kFailure.
Result<Manifest> decode_manifest(ByteView json, const std::string& path);

/// Size of the file of a shard table.
uint64_t shard_table_bytes(uint64_t shards);
std::string encode_shard_table(const ShardTable& table);
Result<ShardTable> decode_shard_table(ByteView bytes, const std::string& path);
/// Whether the table has the totals that the manifest states.
Status check_shard_table(const ShardTable& table, const Manifest& manifest,
                         const std::string& path);

/// Where a shard's name, index section and checksum are. 48 bytes in the file.
struct ShardPlace {
  uint64_t index_offset = 0;  ///< of the section, in its index file
  uint32_t index_bytes = 0;
  uint32_t index_file = 0;   ///< number in Manifest::index_files
  uint64_t index_xxh3 = 0;   ///< of the section
  uint64_t shard_xxh3 = 0;   ///< of the whole shard object; 0 for loose files
  uint64_t name_offset = 0;  ///< in the name blob
  uint32_t name_bytes = 0;
};

/// Writer: places and names in shard order.
std::string encode_place_table(const std::vector<ShardPlace>& places,
                               const std::vector<std::string>& names);

/// Reader by ranges: where records [first, first + count) and names lie in the file.
inline constexpr uint64_t kPlaceHeaderBytes = 32;
inline constexpr uint64_t kPlaceBytes = 48;
Result<ShardPlace> decode_place(ByteView record, const std::string& path);
/// Checks the header of a place table (its first kPlaceHeaderBytes) for `shards` shards.
Status check_place_header(ByteView header, uint64_t shards, const std::string& path);
/// First byte of the name blob.
inline uint64_t place_names_offset(uint64_t shards) {
  return kPlaceHeaderBytes + shards * kPlaceBytes;
}

/// One sample in the key table. 16 bytes in the file, after a header of kKeyHeaderBytes.
struct KeyEntry {
  uint64_t hash;
  uint32_t shard;
  uint32_t sample;
};
inline constexpr uint64_t kKeyHeaderBytes = 32;
inline constexpr uint64_t kKeyBytes = 16;
std::string encode_key_header(uint64_t entries);
Status check_key_header(ByteView header, uint64_t entries, const std::string& path);
void append_key_entry(std::string& out, const KeyEntry& entry);
KeyEntry decode_key_entry(const std::byte* from);

}  // namespace headrace
