#include "job/verify_tables.h"

#include <algorithm>
#include <map>

#include "base/digest.h"
#include "base/try.h"

namespace headrace {
namespace {

constexpr const char* kIndexAgain = "Restore it, or run 'headrace index' to make the tables again.";
constexpr uint64_t kPieceBytes = 1 << 20;

void add_table_finding(Findings& findings, FindingKind kind, Error error) {
  if (error.hint.empty()) error.hint = kIndexAgain;
  if (error.code == Code::kNotFound) kind = FindingKind::kMissing;
  findings.add(Findings::kTables, {Severity::kError, kind, std::move(error)});
}

/// Size and SHA-256 of a table. False: a finding was added.
bool check_table(const Store& store, const TableFile& table, Findings& findings) {
  const std::string name = store.name() + "/" + table.path;
  const auto bad = [&](Error error) {
    add_table_finding(findings, FindingKind::kTable, std::move(error).at({.shard = name}));
    return false;
  };
  auto source = store.open(table.path);
  if (!source.ok()) return bad(std::move(source).error());
  const uint64_t size = (*source)->size();
  if (size != table.bytes)
    return bad({.code = Code::kCorrupt,
                .message = "the table has " + std::to_string(size) + " bytes, the manifest says " +
                           std::to_string(table.bytes),
                .origin = {.offset = std::min(size, table.bytes)}});
  std::string bytes(size, '\0');
  if (auto read = (*source)->read_at(0, as_writable_bytes(bytes)); !read.ok())
    return bad(std::move(read).error());
  if (sha256_hex(as_bytes(bytes)) == table.sha256) return true;
  return bad({.code = Code::kCorrupt,
              .message = "the table does not have the SHA-256 that the manifest names"});
}

/// Key and place of a sample, for findings.
Result<Origin> origin_of(const Catalog& catalog, SampleId id) {
  HR_TRY(const auto index, catalog.load_index(id.shard));
  HR_TRY(std::string name, catalog.shard_name(id.shard));
  Origin origin{.shard = std::move(name), .member = std::string(index->key(id.sample))};
  if (index->is_archive()) origin.offset = index->sample_begin(id.sample);
  return origin;
}

}  // namespace

Result<std::unique_ptr<Catalog>> check_tables(const std::shared_ptr<Store>& store,
                                              Findings& findings, const Progress& progress) {
  const std::unique_ptr<Catalog> nothing;
  HR_TRY(const std::string root, store->read(kManifestName));
  const std::string root_name = store->name() + "/" + kManifestName;
  auto manifest = decode_manifest(as_bytes(root), root_name);
  if (!manifest.ok()) {
    add_table_finding(findings, FindingKind::kManifest, std::move(manifest).error());
    return std::unique_ptr<Catalog>();
  }
  bool usable = check_table(*store, manifest->shard_table, findings);
  usable &= check_table(*store, manifest->place_table, findings);
  check_table(*store, manifest->key_table, findings);
  for (const TableFile& file : manifest->index_files) {
    if (progress.stopped()) return Progress::interrupted();
    check_table(*store, file, findings);
  }
  if (!usable) return std::unique_ptr<Catalog>();
  auto catalog = open_manifest_catalog(store, root);
  if (!catalog.ok()) {
    add_table_finding(findings, FindingKind::kManifest, std::move(catalog).error());
    return std::unique_ptr<Catalog>();
  }
  if ((*catalog)->table().total_bytes() != manifest->bytes)
    add_table_finding(findings, FindingKind::kManifest,
                      {.code = Code::kCorrupt,
                       .message = "the manifest says " + std::to_string(manifest->bytes) +
                                  " bytes of shards, the shard table " +
                                  std::to_string((*catalog)->table().total_bytes()),
                       .origin = {.shard = root_name}});
  return std::move(*catalog);
}

uint64_t key_entry_mix(uint64_t hash, SampleId id) {
  // The finaliser of SplitMix64, twice.
  const auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  };
  return mix(hash + mix((uint64_t{id.shard} << 32 | id.sample) + 0x9e3779b97f4a7c15U));
}

Status report_duplicates(const std::vector<SampleId>& same, const Catalog& catalog,
                         Findings& findings) {
  std::map<std::string, Origin> first;
  for (const SampleId id : same) {
    HR_TRY(Origin origin, origin_of(catalog, id));
    const auto [it, is_new] = first.emplace(origin.member, origin);
    if (is_new) continue;
    std::string message =
        "the key '" + origin.member + "' was there before, in " + it->second.shard;
    if (it->second.offset != Origin::kNoOffset)
      message += " at byte " + std::to_string(it->second.offset);
    findings.add(
        Findings::kLast,
        {Severity::kWarning,
         FindingKind::kDuplicate,
         {.code = Code::kCorrupt, .message = std::move(message), .origin = std::move(origin)}});
  }
  return {};
}

Status check_keys(const Store& store, const Catalog& catalog, uint64_t expected_mix,
                  Findings& findings) {
  const Manifest& manifest = catalog.manifest();
  HR_TRY(const auto source, store.open(manifest.key_table.path));
  const auto bad = [&](const std::string& problem, uint64_t offset) {
    findings.add(Findings::kLast, {Severity::kError,
                                   FindingKind::kIndex,
                                   {.code = Code::kCorrupt,
                                    .message = "the key table " + problem,
                                    .origin = {.shard = source->name(), .offset = offset},
                                    .hint = kIndexAgain}});
    return Status();
  };
  std::vector<std::byte> piece(kKeyHeaderBytes);
  if (source->size() != kKeyHeaderBytes + manifest.samples * kKeyBytes)
    return bad("has another size than the manifest's samples need", Origin::kNoOffset);
  HR_CHECK(source->read_at(0, piece));
  HR_CHECK(check_key_header(piece, manifest.samples, source->name()));

  uint64_t mix = 0, last_hash = 0;
  std::vector<SampleId> same;
  for (uint64_t at = kKeyHeaderBytes; at < source->size(); at += piece.size()) {
    piece.resize(std::min(kPieceBytes, source->size() - at));
    HR_CHECK(source->read_at(at, piece));
    for (uint64_t i = 0; i < piece.size(); i += kKeyBytes) {
      const KeyEntry entry = decode_key_entry(piece.data() + i);
      const SampleId id{entry.shard, entry.sample};
      if (entry.hash < last_hash) return bad("is not sorted", at + i);
      if (id.shard >= catalog.table().size() || id.sample >= catalog.table().samples[id.shard])
        return bad("names a sample that does not exist", at + i);
      if (entry.hash != last_hash) {
        if (same.size() > 1) HR_CHECK(report_duplicates(same, catalog, findings));
        same.clear();
      }
      same.push_back(id);
      mix += key_entry_mix(entry.hash, id);
      last_hash = entry.hash;
    }
  }
  if (same.size() > 1) HR_CHECK(report_duplicates(same, catalog, findings));
  if (expected_mix != 0 && mix != expected_mix)
    return bad("does not have the keys of the index", Origin::kNoOffset);
  return {};
}

}  // namespace headrace
