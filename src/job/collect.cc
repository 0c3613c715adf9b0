#include "job/collect.h"

#include <algorithm>
#include <set>

#include "base/try.h"
#include "job/fault_point.h"
#include "job/publish.h"
#include "job/versions.h"

namespace headrace {
namespace {

using Names = std::set<std::string>;

constexpr const char* kRecords = "_headrace/pending/";

/// "v-1a2b3c4d/…": where jobs put the shards of a version that is not the first.
bool is_in_version_folder(std::string_view path) {
  constexpr size_t kDigits = 8;
  if (!path.starts_with("v-") || path.size() < kDigits + 3 || path[kDigits + 2] != '/')
    return false;
  return path.substr(2, kDigits).find_first_not_of("0123456789abcdef") == path.npos;
}

/// Whether jobs wrote this object, whoever names it.
bool is_ours(const std::string& path) {
  if (is_in_version_folder(path)) return true;
  const std::string tables = std::string(kTableFolder) + "/";
  if (!path.starts_with(tables) || path.starts_with(kVersionFolder)) return false;
  const std::string name = path.substr(tables.size());
  return std::ranges::any_of(
      std::initializer_list<const char*>{"index-", "keys-", "places-", "shards-"},
      [&](const char* kind) { return name.starts_with(kind) && name.ends_with(".bin"); });
}

class Collection {
 public:
  Collection(Store& store, const CollectOptions& options, Progress& progress)
      : store_(store), options_(options), progress_(progress) {}

  Result<CollectReport> run() {
    HR_CHECK(look_at_jobs());
    HR_TRY(const auto entries, store_.list(""));  // before the versions: what is new is not in it
    HR_CHECK(sort_versions());
    // Tables last, and the numbers behind them: what a version names is known as long as any of it
    // is there.
    HR_CHECK(remove_all(entries, false));
    HR_CHECK(remove_all(entries, true));
    HR_CHECK(forget_versions());
    HR_CHECK(store_.publish());
    return std::move(report_);
  }

 private:
  Status look_at_jobs() {
    HR_TRY(const bool pending, store_.exists(kPendingName));
    if (!pending) return {};
    if (!options_.abandon)
      return Error{.code = Code::kPartial,
                   .message = "a job is writing to '" + store_.name() + "', or was stopped",
                   .origin = {},
                   .hint = "Finish it by giving its command again, or give it up with --abandon."};
    report_.abandoned = true;
    if (options_.dry_run) return {};
    HR_TRY(const auto records, store_.list("_headrace/pending"));
    for (const StoreEntry& record : records) HR_CHECK(store_.remove(record.path));
    return store_.remove(kPendingName);
  }

  Status sort_versions() {
    HR_TRY(const std::vector<Version> versions, read_versions(store_));
    for (size_t i = 0; i < versions.size(); ++i) {
      const bool old = options_.keep > 0 && versions.size() - i > options_.keep;
      const bool forgotten = old && !versions[i].is_current;
      if (forgotten) old_.push_back(versions[i].number);
      const auto objects = version_objects(store_, versions[i]);
      if (!objects.ok() && !forgotten) return objects.error();
      if (!objects.ok()) continue;
      for (const StoreEntry& object : *objects)
        (forgotten ? forgotten_ : kept_).insert(object.path);
    }
    return {};
  }

  /// Unless something of them stays, for it is young: only they name it.
  Status forget_versions() {
    if (young_of_old_) return {};
    for (const uint64_t number : old_) {
      if (!options_.dry_run) HR_CHECK(forget_version(store_, number));
      fault_point("forgotten");
    }
    report_.forgotten = old_;
    return {};
  }

  Status remove_all(const std::vector<StoreEntry>& entries, bool tables) {
    for (const StoreEntry& entry : entries) {
      if (progress_.stopped()) return Progress::interrupted();
      const bool is_table = entry.path.starts_with(std::string(kTableFolder) + "/");
      if (is_table == tables && is_garbage(entry.path)) HR_CHECK(remove(entry));
    }
    return {};
  }

  bool is_garbage(const std::string& path) const {
    if (kept_.contains(path) || path.starts_with(kRecords)) return false;
    return forgotten_.contains(path) || is_ours(path);
  }

  Status remove(const StoreEntry& entry) {
    const bool old = entry.modified && now_ - *entry.modified >= options_.grace;
    if (!old) {
      young_of_old_ = young_of_old_ || forgotten_.contains(entry.path);
      ++report_.young_objects;
      report_.young_bytes += entry.bytes;
      return {};
    }
    report_.removed.push_back(entry);
    report_.removed_bytes += entry.bytes;
    if (options_.dry_run) return {};
    // A job that began meanwhile may write under this very name.
    HR_TRY(const bool pending, store_.exists(kPendingName));
    if (pending) return Progress::interrupted();
    HR_CHECK(store_.remove(entry.path));
    fault_point("removed");
    return {};
  }

  Store& store_;
  const CollectOptions& options_;
  Progress& progress_;
  const std::chrono::system_clock::time_point now_ = std::chrono::system_clock::now();
  std::vector<uint64_t> old_;  // versions to be forgotten
  bool young_of_old_ = false;
  Names kept_;
  Names forgotten_;
  CollectReport report_;
};

}  // namespace

Result<CollectReport> collect_garbage(const CollectOptions& options, Progress& progress) {
  HR_TRY(const auto store, open_store(options.folder));
  return Collection(*store, options, progress).run();
}

}  // namespace headrace
