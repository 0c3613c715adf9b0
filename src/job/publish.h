// The destination of a job: how a data set comes to be, whole or not at all.
//
//   1  _headrace/pending.json               the marker: which plan is under way
//   2  train-000000.tar …                   shards, under their final names
//   3  _headrace/pending/<plan>/<task>      one record a finished task, put if absent
//   4  _headrace/{index,keys,places,shards} the tables, made from the records
//   5  headrace.json                        the root, replaced atomically: from here on it is there
//                                           (a replaced one stays as a version: versions.h)
//   6  (1's marker and 3 are removed)
//
// Killed before 5, readers see the old root, or a marker without a root, which they refuse; killed
// after 5, the new data set. The same plan begun again finds the records and goes on.
//
// A new version of a data set that exists lies in a folder of its own (`v-<digest>/`), so that the
// old version's shards stay readable until the root is swapped, and after. So does every version in
// a store that does not create atomically: two jobs that begin at the same instant both run there,
// and the root that comes last wins, whole.
// Thread-safety: put_record from any thread; everything else from one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "job/progress.h"
#include "job/published_shards.h"
#include "job/shard_record.h"
#include "plan/manifest.h"

namespace headrace {

/// Where a plan of a job lies that has no other place.
inline constexpr const char* kPlanFolder = "_headrace/plans/";

struct PublishOptions {
  std::string plan;      ///< digest of the plan, hexadecimal
  bool replace = false;  ///< begin although the destination holds something else
  bool append = false;   ///< go on from the data set that is there, which readers see meanwhile
  /// The job writes shards: mark the folder. A job that only writes tables beside shards that are
  /// whole already leaves them readable meanwhile.
  bool writes_shards = true;
};

class Publication {
 public:
  enum class State {
    kFresh,     ///< nothing of this plan is there
    kResumed,   ///< the plan was begun before; see finished()
    kComplete,  ///< the destination holds exactly this; nothing to do
  };

  /// Looks at the destination, and refuses (Code::kUsage) one that holds something else unless
  /// `replace`. Writes nothing.
  static Result<Publication> look(Store& store, const PublishOptions& options);

  State state() const { return state_; }
  const std::string& plan() const { return options_.plan; }
  /// What goes in front of every shard's name: "" or "v-<digest>/".
  const std::string& shard_folder() const { return folder_; }
  /// For what tasks leave to each other; goes with the records.
  std::string scratch_folder() const { return record_folder() + "/parts/"; }
  /// Tasks that have a record.
  const std::set<uint64_t>& finished() const { return finished_; }
  /// True if another version was there, which stays.
  bool replaces() const { return replaces_; }
  /// With `append`: the root that is gone on from, as it was when the destination was looked at.
  const std::string& base_text() const { return base_text_; }

  /// Writes the marker.
  Status begin();
  Status put_record(uint64_t task, const ShardRecord& record);
  Result<ShardRecord> record(uint64_t task) const;
  /// Which of `tasks` tasks an earlier run finished: their record can be read and the object has
  /// its size. Records that are of no use are removed.
  Result<std::vector<bool>> find_all_done(uint64_t tasks);
  /// The same of one task.
  Result<bool> find_done(uint64_t task);
  /// Removes the record of a task that has to be done again.
  Status forget(uint64_t task) { return store_->remove(record_path(task)); }

  /// Makes tables from the shards of `base`, if there is one, and behind them the records of tasks
  /// 0 … tasks - 1, in that order, and the root from `facts` (container, base, classes, tool,
  /// recipe) and the tables; then removes marker and records.
  /// `memory_bytes` bounds what the key table takes: larger ones are made in several passes.
  Result<Manifest> finish(Manifest facts, uint64_t tasks, uint64_t memory_bytes,
                          const Progress& progress, const PublishedShards* base = nullptr);

  /// Removes marker and records (again; a kill may have left some), but for those of another job.
  Status clean();

 private:
  Publication(Store& store, PublishOptions options);

  std::string record_folder() const;
  std::string record_path(uint64_t task) const;
  Result<std::string> marked_plan() const;
  Result<bool> is_marked_with(const std::string& text) const;
  Status put_root(const std::string& text);
  /// Whether the root holds what the plan makes.
  bool is_part_of(const Manifest& root) const;
  Status look_at_root();
  Status look_at_marker();
  Status look_at_other_files();

  Store* store_;
  PublishOptions options_;
  State state_ = State::kFresh;
  std::string folder_;
  std::string base_text_;
  std::set<uint64_t> finished_;
  bool replaces_ = false;
  bool foreign_marker_ = false;
};

/// The digests of the plans that a data set was made by and appended to, the newest first.
std::vector<std::string> plans_of(const Manifest& manifest);
/// The plan's digest in a manifest's recipe, or "".
std::string plan_of(const Manifest& manifest);
/// The recipe of a job as the manifest keeps it: its options and the plan's digest.
std::string make_recipe(const std::string& verb, const std::string& options_json,
                        const std::string& plan);
/// The same of a job that went on from `base`.
std::string make_recipe(const std::string& verb, const std::string& options_json,
                        const std::string& plan, const Manifest& base);

}  // namespace headrace
