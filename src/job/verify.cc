#include "job/verify.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/parallel.h"
#include "base/try.h"
#include "dataset/containers.h"
#include "format/key_rule.h"
#include "io/urls.h"
#include "job/verify_objects.h"
#include "job/verify_shard.h"
#include "job/verify_tables.h"

namespace headrace {
namespace {

/// The rule by which the manifest's job named samples; WebDataset's if it does not say.
KeyRule recorded_rule(const Manifest& manifest) {
  using nlohmann::json;
  const json recipe = json::parse(manifest.recipe, nullptr, false);
  const json key = recipe.is_object() ? recipe.value("/options/key"_json_pointer, json()) : json();
  if (!key.is_string()) return {};
  auto rule = KeyRule::parse(key.get<std::string>());
  return rule.ok() ? std::move(*rule) : KeyRule();
}

/// Verify of a data set that has a manifest.
class ManifestCheck {
 public:
  ManifestCheck(std::shared_ptr<Store> store, const VerifyOptions& options, Findings& findings,
                Progress& progress)
      : store_(std::move(store)), options_(options), findings_(findings), progress_(progress) {}

  Status run(VerifyReport& report) {
    HR_TRY(catalog_, check_tables(store_, findings_, progress_));
    if (catalog_ == nullptr) return {};
    report.shards = catalog_->manifest().shards;
    report.samples = catalog_->manifest().samples;
    rule_ = recorded_rule(catalog_->manifest());
    progress_.total_items = report.shards;
    if (!options_.quick) progress_.total_bytes = catalog_->manifest().bytes;
    seen_.resize(report.shards);
    expected_.resize(report.shards);
    names_.resize(report.shards);
    HR_CHECK(for_each(report.shards, thread_count(options_.threads),
                      [&](uint64_t s) { return check_shard(static_cast<uint32_t>(s)); }));
    name_swapped();
    if (!options_.quick) check_fields();
    check_all_keys();
    return check_objects(store_, *catalog_, names_, findings_);
  }

 private:
  Status check_shard(uint32_t number) {
    if (progress_.stopped()) return Progress::interrupted();
    KnownShard shard{.number = number,
                     .container = catalog_->manifest().container,
                     .bytes = catalog_->table().bytes[number],
                     .rule = rule_};
    auto name = catalog_->shard_name(number);
    auto checksum = catalog_->shard_checksum(number);
    if (!name.ok() || !checksum.ok()) {
      add_index_finding(number, !name.ok() ? std::move(name).error() : std::move(checksum).error());
      return {};
    }
    shard.name = names_[number] = *name;
    shard.xxh3 = expected_[number] = *checksum;
    auto index = catalog_->load_index(number);
    if (index.ok())
      shard.index = *index;
    else
      add_index_finding(number, std::move(index).error());
    if (shard.index != nullptr && !options_.quick) add_up(*shard.index, number);
    HR_CHECK(check_content(shard));
    ++progress_.items;
    return {};
  }

  Status check_content(const KnownShard& shard) {
    if (catalog_->manifest().container == Container::kFiles)
      return check_files(*catalog_, shard, findings_, progress_);
    if (options_.quick) return check_size(shard, findings_);
    HR_TRY(seen_[shard.number], check_archive(shard, findings_, progress_));
    return {};
  }

  void add_index_finding(uint32_t number, Error error) {
    whole_index_ = false;
    // A table that is not there, or has another size, was found before, and counts once.
    if (error.code == Code::kNotFound) return;
    {
      const std::lock_guard lock(mutex_);
      if (!index_errors_.insert(error.to_string()).second) return;
    }
    findings_.add(Findings::kFirstShard + number,
                  {Severity::kError, FindingKind::kIndex, std::move(error)});
  }

  /// Totals over the index sections, to hold against manifest and key table.
  void add_up(const ShardIndex& index, uint32_t number) {
    uint64_t mix = 0;
    std::vector<FieldSummary> fields(index.fields().size());
    for (uint32_t f = 0; f < fields.size(); ++f) fields[f].unit = index.unit(f);
    for (uint32_t s = 0; s < index.size(); ++s) {
      mix += key_entry_mix(key_hash(index.key(s)), {number, s});
      for (const IndexMember& member : index.members(s)) {
        FieldSummary& field = fields[member.field];
        field.min_bytes = field.count == 0 ? member.size : std::min(field.min_bytes, member.size);
        field.max_bytes = std::max(field.max_bytes, member.size);
        field.bytes += member.size;
        ++field.count;
      }
    }
    const std::lock_guard lock(mutex_);
    mix_ += mix;
    for (size_t f = 0; f < fields.size(); ++f) merge(index.fields()[f], fields[f]);
  }

  void merge(const std::string& name, const FieldSummary& from) {
    if (from.count == 0) return;
    const auto [it, is_new] = totals_.emplace(name, from);
    if (is_new) return;
    FieldSummary& into = it->second;
    if (into.unit != from.unit) into.unit = Unit::kNone;
    into.min_bytes = std::min(into.min_bytes, from.min_bytes);
    into.max_bytes = std::max(into.max_bytes, from.max_bytes);
    into.bytes += from.bytes;
    into.count += from.count;
  }

  void check_fields() {
    if (!whole_index_) return;
    const auto& fields = catalog_->manifest().fields;
    bool same = true;
    size_t known = 0;
    for (const FieldSummary& field : fields) {
      const auto it = totals_.find(field.name);
      const FieldSummary found = it == totals_.end() ? FieldSummary{} : it->second;
      known += it == totals_.end() ? 0 : 1;
      same = same && found.count == field.count && found.bytes == field.bytes &&
             found.unit == field.unit &&
             (field.count == 0 ||
              (found.min_bytes == field.min_bytes && found.max_bytes == field.max_bytes));
    }
    if (same && known == totals_.size()) return;
    findings_.add(Findings::kTables,
                  {Severity::kError,
                   FindingKind::kManifest,
                   {.code = Code::kCorrupt,
                    .message = "the counts and sizes of fields are not those of the index",
                    .origin = {.shard = store_->name() + "/" + kManifestName},
                    .hint = "Run 'headrace index' to make the tables again."}});
  }

  /// A shard whose bytes are another shard's: says so, for they were probably swapped.
  void name_swapped() {
    std::unordered_map<uint64_t, size_t> by_checksum;
    for (size_t s = 0; s < seen_.size(); ++s) {
      if (!seen_[s] || expected_[s] == 0 || *seen_[s] == expected_[s]) continue;
      if (by_checksum.empty())
        for (size_t i = 0; i < expected_.size(); ++i) by_checksum.emplace(expected_[i], i);
      const auto other = by_checksum.find(*seen_[s]);
      if (other == by_checksum.end()) continue;
      findings_.add(Findings::kFirstShard + s,
                    {Severity::kError,
                     FindingKind::kChecksum,
                     {.code = Code::kCorrupt,
                      .message = "this is the content of " + names_[other->second],
                      .origin = {.shard = names_[s]},
                      .hint = "The two were swapped, or one was copied over the other."}});
    }
  }

  void check_all_keys() {
    const uint64_t mix = whole_index_ && !options_.quick ? mix_ : 0;
    const Status status = check_keys(*store_, *catalog_, mix, findings_);
    // What cannot be opened or has a bad header was found with the tables.
    if (!status.ok() && findings_.errors() == 0)
      findings_.add(Findings::kLast, {Severity::kError, FindingKind::kIndex, status.error()});
  }

  const std::shared_ptr<Store> store_;
  const VerifyOptions& options_;
  Findings& findings_;
  Progress& progress_;
  std::unique_ptr<Catalog> catalog_;
  KeyRule rule_;
  // By shard; each is touched by the thread that checks it.
  std::vector<std::optional<uint64_t>> seen_;
  std::vector<uint64_t> expected_;
  std::vector<std::string> names_;

  std::mutex mutex_;  // guards what follows
  uint64_t mix_ = 0;
  std::map<std::string, FieldSummary> totals_;
  std::unordered_set<std::string> index_errors_;
  std::atomic<bool> whole_index_{true};
};

/// Keys that come again over archives that no manifest describes.
void check_unknown_keys(const std::vector<std::string>& names,
                        const std::vector<ShardIndexBuilder>& shards, Findings& findings) {
  std::vector<std::pair<uint64_t, SampleId>> keys;
  for (uint32_t s = 0; s < shards.size(); ++s)
    for (uint32_t i = 0; i < shards[s].size(); ++i)
      keys.emplace_back(key_hash(shards[s].index().key(i)), SampleId{s, i});
  std::ranges::sort(keys, {}, [](const auto& entry) {
    return std::tuple(entry.first, entry.second.shard, entry.second.sample);
  });
  for (size_t k = 1; k < keys.size(); ++k) {
    if (keys[k].first != keys[k - 1].first) continue;
    const SampleId before = keys[k - 1].second, id = keys[k].second;
    const ShardIndex& index = shards[id.shard].index();
    const ShardIndex& other = shards[before.shard].index();
    const std::string key(index.key(id.sample));
    if (key != other.key(before.sample)) continue;
    findings.add(Findings::kLast,
                 {Severity::kWarning,
                  FindingKind::kDuplicate,
                  {.code = Code::kCorrupt,
                   .message = "the key '" + key + "' was there before, in " +
                              std::string(without_query(names[before.shard])) + " at byte " +
                              std::to_string(other.sample_begin(before.sample)),
                   .origin = {.shard = std::string(without_query(names[id.shard])),
                              .member = key,
                              .offset = index.sample_begin(id.sample)}}});
  }
}

Status check_without_manifest(const std::vector<std::string>& names, const VerifyOptions& options,
                              Findings& findings, Progress& progress, VerifyReport& report) {
  findings.add(Findings::kTables,
               {Severity::kWarning,
                FindingKind::kUnprotected,
                {.code = Code::kCorrupt,
                 .message = "there is no manifest: a shard that was cut between two members, or "
                            "data that changed, cannot be noticed",
                 .hint = "'headrace index' makes one."}});
  report.shards = names.size();
  progress.total_items = names.size();
  HR_TRY(const KeyRule rule, KeyRule::parse(options.key_rule));
  std::vector<ShardIndexBuilder> shards(names.size());
  HR_CHECK(for_each(names.size(), thread_count(options.threads), [&](uint64_t s) -> Status {
    const auto number = static_cast<uint32_t>(s);
    if (options.quick) return check_size({.number = number, .name = names[s]}, findings);
    HR_TRY(shards[s], check_unknown_archive(number, names[s], rule, findings, progress));
    ++progress.items;
    return {};
  }));
  for (const ShardIndexBuilder& shard : shards) report.samples += shard.size();
  check_unknown_keys(names, shards, findings);
  return {};
}

Error nothing_at(const std::string& location) {
  return {.code = Code::kNotFound,
          .message = "there is no data set",
          .origin = {.shard = location},
          .hint = "Name a folder with headrace.json, or shards."};
}

/// Where the manifest of `location` would be: itself, or the folder it is in.
std::string folder_of(const std::string& location) {
  const std::string suffix = std::string("/") + kManifestName;
  if (location == kManifestName) return ".";
  return location.ends_with(suffix) ? location.substr(0, location.size() - suffix.size())
                                    : location;
}

Result<std::vector<std::string>> shards_in(const Store& store) {
  HR_TRY(const bool pending, store.exists(kPendingName));
  if (pending)
    return Error{.code = Code::kPartial,
                 .message = "the data set was not finished: a job began to write it",
                 .origin = {.shard = store.name()},
                 .hint = "Give the same command again to finish it."};
  HR_TRY(const auto entries, store.list(""));
  std::vector<std::string> names;
  for (const StoreEntry& entry : entries)
    if (container_of(entry.path)) names.push_back(store.name() + "/" + entry.path);
  if (!names.empty()) return names;
  if (entries.empty()) return nothing_at(store.name());
  return Error{
      .code = Code::kUsage,
      .message = "a folder of loose files without a manifest has nothing to verify against",
      .origin = {.shard = store.name()},
      .hint = "'headrace index' makes a manifest of it."};
}

Status look(const VerifyOptions& options, Findings& findings, Progress& progress,
            VerifyReport& report) {
  HR_TRY(std::vector<std::string> paths, expand_locations(options.locations));
  if (paths.size() == 1 && !container_of(paths.front())) {
    HR_TRY(const auto store, open_store(folder_of(paths.front())));
    HR_TRY(report.has_manifest, store->exists(kManifestName));
    if (report.has_manifest) return ManifestCheck(store, options, findings, progress).run(report);
    HR_TRY(paths, shards_in(*store));
  }
  const auto other = std::ranges::find_if_not(
      paths, [](const auto& path) { return container_of(path).has_value(); });
  if (other != paths.end())
    return Error{.code = Code::kUsage,
                 .message = "several locations are verified together only if all are shards",
                 .origin = {.shard = std::string(without_query(*other))},
                 .hint = "Verify them one by one."};
  return check_without_manifest(paths, options, findings, progress, report);
}

}  // namespace

Result<VerifyReport> verify(const VerifyOptions& options, Progress& progress) {
  VerifyReport report;
  Findings findings(options.max_findings);
  HR_CHECK(look(options, findings, progress, report));
  report.bytes = progress.bytes;
  report.errors = findings.errors();
  report.warnings = findings.warnings();
  report.worst = findings.worst();
  report.findings = findings.take();
  return report;
}

}  // namespace headrace
