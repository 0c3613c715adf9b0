#include "job/pack.h"

#include "base/try.h"
#include "base/units.h"
#include "job/fault_point.h"
#include "job/pack_plan.h"
#include "job/pack_write.h"
#include "job/publish.h"

namespace headrace {
namespace {

PackReport describe(const PackPlan& plan, const std::string& folder) {
  PackReport report;
  report.plan = plan.digest();
  report.samples = plan.set().samples.size();
  report.payload_bytes = plan.payload_bytes();
  report.fields = plan.set().fields;
  report.classes = plan.set().classes;
  report.notes = plan.notes();
  for (const SampleMember& member : plan.set().members)
    report.files += member.file != SampleMember::kLabel;
  for (const PlannedShard& shard : plan.shards()) {
    report.shards.push_back({folder + shard.name, shard.samples, shard.bytes});
    report.bytes += shard.bytes;
  }
  return report;
}

// Which shards an earlier run finished: their record can be read and the object has its size.
Result<std::vector<bool>> find_done(const PackPlan& plan, Store& store, Publication& publication) {
  std::vector<bool> done(plan.shards().size());
  for (const uint64_t task : publication.finished()) {
    if (task >= done.size()) continue;
    const auto record = publication.record(task);
    if (record.ok()) {
      const auto object = store.open(record->name);
      done[task] = object.ok() && (*object)->size() == record->bytes;
    }
    if (!done[task]) HR_CHECK(publication.forget(task));
  }
  return done;
}

// What became of the samples is known from the records alone, for some may be of an earlier run.
Status add_records(const Publication& publication, PackReport& report) {
  report.samples = report.bytes = 0;
  for (uint64_t task = 0; task < report.shards.size(); ++task) {
    HR_TRY(const ShardRecord record, publication.record(task));
    report.skipped.insert(report.skipped.end(), record.skipped.begin(), record.skipped.end());
    report.skipped_samples += record.skipped_samples;
    report.corrupt_samples += record.corrupt_samples;
    report.shards[task].samples = record.samples;
    report.shards[task].bytes = record.bytes;
    report.samples += record.samples;
    report.bytes += record.bytes;
  }
  return {};
}

}  // namespace

Result<PackReport> pack(const PackOptions& options, Progress& progress) {
  HR_TRY(const auto store,
         open_store(options.out, options.fsync ? Durability::kDurable : Durability::kFast));
  return pack_to(*store, options, progress);
}

Result<PackReport> pack_to(Store& store, const PackOptions& options, Progress& progress) {
  HR_TRY(const PackPlan plan, PackPlan::make(options));
  if (progress.stopped()) return Progress::interrupted();
  HR_TRY(Publication publication,
         Publication::look(store, {.plan = plan.digest(), .replace = options.replace}));
  PackReport report = describe(plan, publication.shard_folder());
  if (publication.state() == Publication::State::kComplete) {
    report.complete_before = true;
    if (!options.dry_run) HR_CHECK(publication.clean());
    return report;
  }
  if (options.dry_run) return report;

  HR_TRY(const std::vector<bool> done, find_done(plan, store, publication));
  for (size_t shard = 0; shard < done.size(); ++shard) {
    progress.total_bytes += report.shards[shard].bytes;
    progress.total_items += report.shards[shard].samples;
    if (!done[shard]) continue;
    ++report.shards_resumed;
    progress.bytes += report.shards[shard].bytes;
    progress.items += report.shards[shard].samples;
  }
  HR_CHECK(publication.begin());
  HR_TRY(report.pictures, write_shards(plan, options, store, publication, done, progress));
  HR_CHECK(add_records(publication, report));

  Manifest facts;
  facts.classes = plan.set().classes;
  facts.tool = options.tool;
  facts.recipe = make_recipe("pack", plan.options_json(), plan.digest());
  HR_TRY(const Manifest manifest, publication.finish(std::move(facts), plan.shards().size(),
                                                     options.memory_bytes, progress));
  report.fingerprint = manifest.fingerprint();
  if (!store.creates_atomically())
    report.notes.push_back(
        "this store cannot keep two jobs apart that begin to write to one place at the same "
        "instant: the one that ends last wins");
  if (publication.replaces())
    report.notes.push_back("the files of the version before stay in the folder");
  return report;
}

}  // namespace headrace
