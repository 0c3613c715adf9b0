#include "job/tables.h"

#include <algorithm>
#include <optional>

#include "base/digest.h"
#include "base/try.h"
#include "format/shard_index.h"
#include "job/fault_point.h"

namespace headrace {
namespace {

constexpr uint64_t kIndexFileBytes = uint64_t{1} << 30;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

/// Takes the bytes of a table, piece by piece.
using Emit = std::function<Status(ByteView)>;
/// Makes a table; called twice when the table is too large to keep: its name is its digest.
using Produce = std::function<Status(const Emit&)>;

/// Keeps the records while they fit into the memory.
class Records {
 public:
  Records(const RecordReader& read, uint64_t tasks, uint64_t memory_bytes)
      : read_(read), kept_(tasks), memory_left_(memory_bytes) {}

  Result<ShardRecord> get(uint64_t task) {
    if (kept_[task]) return *kept_[task];
    HR_TRY(ShardRecord record, read_(task));
    if (record.section.size() <= memory_left_) {
      memory_left_ -= record.section.size();
      kept_[task] = record;
    }
    return record;
  }

 private:
  const RecordReader& read_;
  std::vector<std::optional<ShardRecord>> kept_;
  uint64_t memory_left_;
};

Result<TableFile> write_table(Store& store, const std::string& kind, const std::string& suffix,
                              bool keep, const Produce& produce) {
  Sha256Stream digest;
  TableFile file;
  std::string kept;
  HR_CHECK(produce([&](ByteView piece) -> Status {
    digest.update(piece);
    file.bytes += piece.size();
    if (keep) kept += as_text(piece);
    return {};
  }));
  file.sha256 = digest.hex();
  file.path =
      std::string(kTableFolder) + "/" + kind + "-" + file.sha256.substr(0, 16) + suffix + ".bin";
  HR_TRY(const auto sink, store.create(file.path));
  if (keep)
    HR_CHECK(sink->append(as_bytes(kept)));
  else
    HR_CHECK(produce([&](ByteView piece) { return sink->append(piece); }));
  HR_CHECK(sink->commit());
  fault_point("table");
  return file;
}

Result<TableFile> write_whole(Store& store, const std::string& kind, const std::string& bytes) {
  return write_table(store, kind, "", false,
                     [&bytes](const Emit& emit) { return emit(as_bytes(bytes)); });
}

/// The shards by columns, and which index file each section goes into.
struct Columns {
  ShardTable table;
  std::vector<ShardPlace> places;
  std::vector<std::string> names;
  std::vector<uint64_t> file_begin;  // first task of each index file
};

Result<Columns> gather(Records& records, uint64_t tasks, Manifest& manifest) {
  Columns columns;
  uint64_t in_file = 0;
  for (uint64_t task = 0; task < tasks; ++task) {
    HR_TRY(ShardRecord record, records.get(task));
    if (record.section.size() > UINT32_MAX)
      return Error{.code = Code::kUsage,
                   .message = "the shard has too many samples for one index section",
                   .origin = {record.name, "", Origin::kNoOffset},
                   .hint = "Make smaller shards."};
    if (task == 0 || in_file + record.section.size() > kIndexFileBytes) {
      columns.file_begin.push_back(task);
      in_file = 0;
    }
    ShardPlace place;
    place.index_offset = in_file;
    place.index_bytes = static_cast<uint32_t>(record.section.size());
    place.index_file = static_cast<uint32_t>(columns.file_begin.size() - 1);
    place.index_xxh3 = xxh3(as_bytes(record.section));
    place.shard_xxh3 = record.xxh3;
    columns.places.push_back(place);
    in_file += record.section.size();
    columns.table.samples.push_back(record.samples);
    columns.table.block_samples.push_back(record.block_samples);
    columns.table.bytes.push_back(record.bytes);
    columns.names.push_back(std::move(record.name));
    merge_fields(manifest.fields, record.fields);
  }
  columns.file_begin.push_back(tasks);
  manifest.samples = columns.table.total_samples();
  manifest.shards = tasks;
  manifest.bytes = columns.table.total_bytes();
  return columns;
}

Status write_index_files(Store& store, Records& records, const Columns& columns,
                         Manifest& manifest) {
  for (size_t k = 0; k + 1 < columns.file_begin.size(); ++k) {
    const auto produce = [&](const Emit& emit) -> Status {
      for (uint64_t task = columns.file_begin[k]; task < columns.file_begin[k + 1]; ++task) {
        HR_TRY(const ShardRecord record, records.get(task));
        HR_CHECK(emit(as_bytes(record.section)));
      }
      return {};
    };
    HR_TRY(TableFile file, write_table(store, "index", "-" + std::to_string(k), false, produce));
    manifest.index_files.push_back(std::move(file));
  }
  return {};
}

/// Emits the entries whose hash lies in [first, last], sorted.
Status emit_keys(Records& records, const ShardTable& table, uint64_t first, uint64_t last,
                 const Emit& emit) {
  std::vector<KeyEntry> entries;
  for (uint32_t shard = 0; shard < table.size(); ++shard) {
    HR_TRY(const ShardRecord record, records.get(shard));
    HR_TRY(const ShardIndex index, ShardIndex::decode(as_bytes(record.section), ~uint64_t{0},
                                                      {record.name, "", Origin::kNoOffset}));
    for (uint32_t sample = 0; sample < index.size(); ++sample) {
      const uint64_t hash = key_hash(index.key(sample));
      if (hash >= first && hash <= last) entries.push_back({hash, shard, sample});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const KeyEntry& a, const KeyEntry& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.shard != b.shard ? a.shard < b.shard : a.sample < b.sample;
  });
  std::string piece;
  for (const KeyEntry& entry : entries) {
    append_key_entry(piece, entry);
    if (piece.size() < kPieceBytes) continue;
    HR_CHECK(emit(as_bytes(piece)));
    piece.clear();
  }
  return emit(as_bytes(piece));
}

Result<TableFile> write_keys(Store& store, Records& records, const ShardTable& table,
                             uint64_t memory_bytes, const Progress& progress) {
  const uint64_t samples = table.total_samples();
  const uint64_t in_memory = std::max<uint64_t>(1, memory_bytes / (2 * sizeof(KeyEntry)));
  const uint64_t passes = samples / in_memory + 1;
  const uint64_t width = ~uint64_t{0} / passes;
  return write_table(store, "keys", "", passes == 1, [&](const Emit& emit) -> Status {
    HR_CHECK(emit(as_bytes(encode_key_header(samples))));
    for (uint64_t pass = 0; pass < passes; ++pass) {
      if (progress.stopped()) return Progress::interrupted();
      const uint64_t last = pass + 1 == passes ? ~uint64_t{0} : (pass + 1) * width - 1;
      HR_CHECK(emit_keys(records, table, pass * width, last, emit));
    }
    return {};
  });
}

}  // namespace

Result<Manifest> write_tables(Store& store, Manifest facts, uint64_t tasks,
                              const RecordReader& read, uint64_t memory_bytes,
                              const Progress& progress) {
  Manifest manifest = std::move(facts);
  Records records(read, tasks, memory_bytes / 2);
  HR_TRY(const Columns columns, gather(records, tasks, manifest));
  HR_CHECK(write_index_files(store, records, columns, manifest));
  HR_TRY(manifest.key_table, write_keys(store, records, columns.table, memory_bytes / 2, progress));
  HR_TRY(manifest.place_table,
         write_whole(store, "places", encode_place_table(columns.places, columns.names)));
  HR_TRY(manifest.shard_table, write_whole(store, "shards", encode_shard_table(columns.table)));
  return manifest;
}

}  // namespace headrace
