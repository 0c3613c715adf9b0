#include <limits>

#include "base/digest.h"
#include "base/little_endian.h"
#include "base/try.h"
#include "plan/manifest.h"

// All tables begin with | magic: 8 bytes | version: u32 | bytes a row: u32 | rows: u64 | u64 |, the
// last word being the checksum of the shard table, the bytes of names in the place table, and 0 in
// the key table.

namespace headrace {
namespace {

constexpr uint64_t kHeaderBytes = 32;
constexpr uint64_t kShardRowBytes = 16;
constexpr uint32_t kVersion = 1;

struct TableKind {
  std::string_view magic;  // 8 bytes
  const char* name;
  uint64_t row_bytes;
};

constexpr TableKind kShards{"HRSHARDS", "shard table", kShardRowBytes};
constexpr TableKind kPlaces{"HRPLACES", "place table", kPlaceBytes};
constexpr TableKind kKeys{"HRKEYTAB", "key table", kKeyBytes};

static_assert(kPlaceHeaderBytes == kHeaderBytes && kKeyHeaderBytes == kHeaderBytes);

Error damaged(const TableKind& kind, const std::string& what, const std::string& path,
              uint64_t offset = Origin::kNoOffset) {
  return {Code::kCorrupt,
          std::string("the ") + kind.name + " is damaged: " + what,
          {path, "", offset},
          "Make it again with `headrace index`, or pack the data set again"};
}

void append_header(std::string& out, const TableKind& kind, uint64_t rows, uint64_t last) {
  out += kind.magic;
  append_le(out, kVersion);
  append_le(out, static_cast<uint32_t>(kind.row_bytes));
  append_le(out, rows);
  append_le(out, last);
}

/// Checks all but the last word, and gives the number of rows.
Result<uint64_t> read_header(ByteView header, const TableKind& kind, const std::string& path) {
  if (header.size() < kHeaderBytes) return damaged(kind, "it is shorter than its header", path);
  if (as_text(header).substr(0, 8) != kind.magic)
    return damaged(kind, "it does not begin with " + std::string(kind.magic), path, 0);
  if (const auto version = load_le<uint32_t>(header.data() + 8); version != kVersion)
    return Error{Code::kFailure,
                 std::string("the ") + kind.name + " has version " + std::to_string(version) +
                     ", known is " + std::to_string(kVersion),
                 {path},
                 "It was made by a newer headrace: update this one"};
  if (load_le<uint32_t>(header.data() + 12) != kind.row_bytes)
    return damaged(kind, "its rows have a wrong size", path, 12);
  return load_le<uint64_t>(header.data() + 16);
}

Result<uint64_t> read_last(ByteView header, uint64_t rows, const TableKind& kind,
                           const std::string& path) {
  HR_TRY(const uint64_t found, read_header(header, kind, path));
  if (found != rows)
    return damaged(
        kind,
        "it has " + std::to_string(found) + " rows where the manifest says " + std::to_string(rows),
        path, 16);
  return load_le<uint64_t>(header.data() + 24);
}

template <typename T>
void append_values(std::string& out, const std::vector<T>& values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
void take_values(ByteView& from, uint64_t count, std::vector<T>& values) {
  values.resize(count);
  if (count != 0) std::memcpy(values.data(), from.data(), count * sizeof(T));
  from = from.subspan(count * sizeof(T));
}

}  // namespace

uint64_t shard_table_bytes(uint64_t shards) { return kHeaderBytes + shards * kShardRowBytes; }

std::string encode_shard_table(const ShardTable& table) {
  std::string columns;
  columns.reserve(table.size() * kShardRowBytes);
  append_values(columns, table.samples);
  append_values(columns, table.block_samples);
  append_values(columns, table.bytes);
  std::string out;
  out.reserve(kHeaderBytes + columns.size());
  append_header(out, kShards, table.size(), xxh3(as_bytes(columns)));
  return out += columns;
}

Result<ShardTable> decode_shard_table(ByteView bytes, const std::string& path) {
  HR_TRY(const uint64_t rows, read_header(bytes, kShards, path));
  ByteView columns = bytes.subspan(kHeaderBytes);
  if (columns.size() % kShardRowBytes != 0 || columns.size() / kShardRowBytes != rows)
    return damaged(kShards, "its size does not fit its rows", path);
  if (load_le<uint64_t>(bytes.data() + 24) != xxh3(columns))
    return damaged(kShards, "its checksum does not match", path);
  ShardTable table;
  take_values(columns, rows, table.samples);
  take_values(columns, rows, table.block_samples);
  take_values(columns, rows, table.bytes);
  uint64_t total = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    if (table.block_samples[i] == 0)
      return damaged(kShards, "shard " + std::to_string(i) + " has blocks of no samples", path);
    if (table.bytes[i] >> 63 || (total += table.bytes[i]) >> 63)
      return damaged(kShards, "the sizes add up to more than 63 bits hold", path);
  }
  return table;
}

Status check_shard_table(const ShardTable& table, const Manifest& manifest,
                         const std::string& path) {
  const auto differs = [&](const char* what, uint64_t here, uint64_t there) {
    return damaged(kShards,
                   "it has " + std::to_string(here) + " " + what + " where the manifest says " +
                       std::to_string(there),
                   path);
  };
  if (table.size() != manifest.shards) return differs("shards", table.size(), manifest.shards);
  if (table.total_samples() != manifest.samples)
    return differs("samples", table.total_samples(), manifest.samples);
  if (table.total_bytes() != manifest.bytes)
    return differs("bytes", table.total_bytes(), manifest.bytes);
  return Status::success();
}

std::string encode_place_table(const std::vector<ShardPlace>& places,
                               const std::vector<std::string>& names) {
  uint64_t name_bytes = 0;
  for (const std::string& name : names) name_bytes += name.size();
  std::string out;
  out.reserve(place_names_offset(places.size()) + name_bytes);
  append_header(out, kPlaces, places.size(), name_bytes);
  uint64_t name_offset = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const ShardPlace& place = places[i];
    append_le(out, place.index_offset);
    append_le(out, place.index_bytes);
    append_le(out, place.index_file);
    append_le(out, place.index_xxh3);
    append_le(out, place.shard_xxh3);
    append_le(out, name_offset);
    append_le(out, static_cast<uint32_t>(names[i].size()));
    append_le(out, uint32_t{0});
    name_offset += names[i].size();
  }
  for (const std::string& name : names) out += name;
  return out;
}

Result<ShardPlace> decode_place(ByteView record, const std::string& path) {
  if (record.size() != kPlaceBytes) return damaged(kPlaces, "a row was cut off", path);
  const std::byte* const at = record.data();
  ShardPlace place;
  place.index_offset = load_le<uint64_t>(at);
  place.index_bytes = load_le<uint32_t>(at + 8);
  place.index_file = load_le<uint32_t>(at + 12);
  place.index_xxh3 = load_le<uint64_t>(at + 16);
  place.shard_xxh3 = load_le<uint64_t>(at + 24);
  place.name_offset = load_le<uint64_t>(at + 32);
  place.name_bytes = load_le<uint32_t>(at + 40);
  if (load_le<uint32_t>(at + 44) != 0) return damaged(kPlaces, "a reserved number is not 0", path);
  if (place.index_offset >> 62 || place.name_offset >> 62)
    return damaged(kPlaces, "an offset is absurd", path);
  return place;
}

Status check_place_header(ByteView header, uint64_t shards, const std::string& path) {
  HR_TRY(const uint64_t name_bytes, read_last(header, shards, kPlaces, path));
  if (name_bytes >> 62) return damaged(kPlaces, "its names are absurdly long", path, 24);
  return Status::success();
}

std::string encode_key_header(uint64_t entries) {
  std::string out;
  append_header(out, kKeys, entries, 0);
  return out;
}

Status check_key_header(ByteView header, uint64_t entries, const std::string& path) {
  HR_TRY(const uint64_t reserved, read_last(header, entries, kKeys, path));
  if (reserved != 0) return damaged(kKeys, "a reserved number is not 0", path, 24);
  return Status::success();
}

void append_key_entry(std::string& out, const KeyEntry& entry) {
  append_le(out, entry.hash);
  append_le(out, entry.shard);
  append_le(out, entry.sample);
}

KeyEntry decode_key_entry(const std::byte* from) {
  return {load_le<uint64_t>(from), load_le<uint32_t>(from + 8), load_le<uint32_t>(from + 12)};
}

}  // namespace headrace
