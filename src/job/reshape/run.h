// Plans are run: all of one on this machine, or one task of it, by any number of processes at once.
//
// What was done is known from the records at the destination alone, so a killed run goes on where
// it was, and anybody can ask how far it is.
// Thread-safety: one call at a time per process and destination; other processes may do the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/progress.h"
#include "job/reshape/cost.h"
#include "job/reshape/plan.h"
#include "job/shard_record.h"

namespace headrace {

struct RunOptions {
  unsigned threads = 0;  ///< 0: as many as there are processors
  uint64_t memory_bytes = uint64_t{256} << 20;
  std::string tool = "headrace";  ///< who writes, for the manifest
  bool replace = false;           ///< take the place of another data set
  bool fsync = true;
  bool verify = false;  ///< read the shards back before the commit
  Algorithm algorithm = Algorithm::kAuto;
  /// A local folder for buckets, and for what `map` unpacks. Empty: at a local destination, else
  /// TMPDIR; map's always there.
  std::string scratch;
  std::string python = "python3";  ///< of map's functions
};

struct RunReport {
  std::string plan;  ///< digest
  std::string out;
  uint64_t tasks = 0;
  uint64_t tasks_before = 0;     ///< found finished
  bool complete_before = false;  ///< the destination held exactly this; nothing was done
  uint64_t samples = 0;
  uint64_t bytes = 0;                       ///< of all shards, or of the task's
  std::vector<SkippedSample> skipped = {};  ///< at most kSkippedListed a shard
  uint64_t skipped_samples = 0;             ///< all of them,
  uint64_t corrupt_samples = 0;             ///< and those with a picture that cannot be decoded
  PictureReport pictures = {};              ///< of the shards that this call wrote
  std::string fingerprint = {};             ///< of the data set; empty of a task
  std::vector<std::string> notes = {};
};

/// Does what is missing, and commits. Errors: kChanged (an input; its name), kUsage (the
/// destination holds something else), kNoSpace, kDenied, kInterrupted (resumable).
Result<RunReport> run_plan(const ReshapePlan& plan, const RunOptions& options, Progress& progress);

/// Does one task, unless it is done. The data set is there once run_plan() has found all of them.
/// By buckets, what lies between the passes is at the destination, and tasks share it: the first
/// ones read the input (parts.h).
Result<RunReport> run_task(const ReshapePlan& plan, uint64_t task, const RunOptions& options,
                           Progress& progress);

/// Opens a plan for one of its tasks: all rows of its order if the task needs them, else its own.
Result<ReshapePlan> load_for_task(const Store& place, uint64_t task, const RunOptions& options);

/// Where a plan is: `location` is a place with plan.json, that file, or a destination under way.
Result<std::string> find_plan(const std::string& location);
/// The place of a plan that was given none: at its destination.
std::string default_plan_place(const ReshapePlan& plan);

struct PlanStatus {
  std::string plan;  ///< digest
  std::string verb;
  std::string out;
  bool begun = false;
  bool complete = false;
  uint64_t tasks = 0;
  uint64_t finished = 0;
  std::vector<std::pair<uint64_t, uint64_t>> left = {};  ///< first and last of each run of tasks
};

/// From the records alone; from any machine.
Result<PlanStatus> plan_status(const std::string& location);

/// Gives an unfinished job up: removes its marker, records and shards, and the plan. Code::kUsage
/// if it is complete.
Status abandon_plan(const std::string& location);

}  // namespace headrace
