#include "job/published_shards.h"

#include "base/digest.h"
#include "base/try.h"
#include "format/shard_index.h"
#include "job/index_shard.h"

namespace headrace {
namespace {

Error damaged(const std::string& path, const std::string& what) {
  return {.code = Code::kCorrupt,
          .message = what,
          .origin = {.shard = path},
          .hint = "Run 'headrace verify' to see what else is damaged."};
}

Result<std::string> read_table(const Store& store, const TableFile& file) {
  HR_TRY(std::string bytes, store.read(file.path));
  if (sha256_hex(as_bytes(bytes)) == file.sha256) return bytes;
  return damaged(file.path, "the table does not have the SHA-256 that the manifest names");
}

}  // namespace

Result<PublishedShards> PublishedShards::open(const Store& store, const Manifest& manifest) {
  PublishedShards shards;
  HR_TRY(const std::string columns, read_table(store, manifest.shard_table));
  HR_TRY(shards.table_, decode_shard_table(as_bytes(columns), manifest.shard_table.path));
  HR_CHECK(check_shard_table(shards.table_, manifest, manifest.shard_table.path));
  const std::string& path = manifest.place_table.path;
  HR_TRY(const std::string places, read_table(store, manifest.place_table));
  const uint64_t count = shards.table_.size();
  const ByteView bytes = as_bytes(places);
  if (bytes.size() < place_names_offset(count)) return damaged(path, "the place table was cut");
  HR_CHECK(check_place_header(bytes.first(kPlaceHeaderBytes), count, path));
  const std::string_view names = as_text(bytes.subspan(place_names_offset(count)));
  for (uint64_t i = 0; i < count; ++i) {
    HR_TRY(const ShardPlace place,
           decode_place(bytes.subspan(kPlaceHeaderBytes + i * kPlaceBytes, kPlaceBytes), path));
    if (place.name_offset > names.size() || place.name_bytes > names.size() - place.name_offset ||
        place.index_file >= manifest.index_files.size())
      return damaged(path, "the place of a shard points outside of its tables");
    shards.places_.push_back(place);
    shards.names_.emplace_back(names.substr(place.name_offset, place.name_bytes));
  }
  for (const TableFile& file : manifest.index_files) {
    HR_TRY(auto source, store.open_known(file.path, file.bytes));
    shards.index_files_.push_back(std::move(source));
  }
  return shards;
}

Result<ShardRecord> PublishedShards::record(uint64_t shard) const {
  const ShardPlace& place = places_[shard];
  const ByteSource& file = *index_files_[place.index_file];
  if (place.index_offset > file.size() || place.index_bytes > file.size() - place.index_offset)
    return damaged(file.name(), "an index section lies outside of its file");
  ShardRecord record;
  record.section.resize(place.index_bytes);
  HR_CHECK(file.read_at(place.index_offset, as_writable_bytes(record.section)));
  if (xxh3(as_bytes(record.section)) != place.index_xxh3)
    return damaged(file.name(), "an index section does not have its checksum");
  HR_TRY(const ShardIndex index,
         ShardIndex::decode(as_bytes(record.section), ~uint64_t{0}, {.shard = file.name()}));
  record.name = names_[shard];
  record.bytes = table_.bytes[shard];
  record.xxh3 = place.shard_xxh3;
  record.samples = table_.samples[shard];
  record.block_samples = table_.block_samples[shard];
  record.fields = summarise(index);
  return record;
}

}  // namespace headrace
