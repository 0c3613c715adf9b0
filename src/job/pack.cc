#include "job/pack.h"

#include <optional>

#include "base/try.h"
#include "base/units.h"
#include "job/fault_point.h"
#include "job/pack_plan.h"
#include "job/pack_write.h"
#include "job/publish.h"
#include "job/published_shards.h"
#include "job/read_back.h"

namespace headrace {
namespace {

PackReport describe(const PackPlan& plan, const std::string& folder) {
  PackReport report;
  report.plan = plan.digest();
  report.container = plan.container();
  report.samples = plan.samples();
  report.payload_bytes = plan.payload_bytes();
  report.fields = plan.set().fields;
  report.classes = plan.set().classes;
  report.notes = plan.notes();
  report.files = plan.files();
  for (const PlannedShard& shard : plan.shards()) {
    report.shards.push_back({folder + shard.name, shard.samples, shard.bytes});
    report.bytes += shard.bytes;
  }
  return report;
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

/// The data set that is appended to, if any.
struct Base {
  Manifest manifest;
  std::optional<PublishedShards> shards;
};

Error differs(const std::string& what, const std::string& hint) {
  return {.code = Code::kUsage,
          .message = "these samples cannot be appended: the data set there has other " + what,
          .origin = {},
          .hint = hint};
}

// An appended shard is of the container that is there, unless another one is asked for (and
// refused).
Result<PackOptions> as_the_base(const Store& store, PackOptions options) {
  if (!options.append || options.container || !options.name.empty()) return options;
  const auto text = store.read(kManifestName);
  if (!text.ok()) return options;  // looking at the destination says so
  HR_TRY(const Manifest manifest, decode_manifest(as_bytes(*text), store.name()));
  options.container = manifest.container;
  return options;
}

Result<Base> open_base(const Store& store, const Publication& publication, const PackPlan& plan) {
  Base base;
  if (publication.base_text().empty()) return base;
  HR_TRY(base.manifest, decode_manifest(as_bytes(publication.base_text()), store.name()));
  const Manifest& there = base.manifest;
  if (there.container != plan.container())
    return differs("shards, " + std::string(container_name(there.container)),
                   "Leave --container out, or convert one of the two.");
  if (!there.base.empty())
    return differs("places for its shards, '" + there.base + "'",
                   "Append where the shards are, or pack into a place of its own.");
  if (there.classes != plan.set().classes)
    return differs("classes", "Class numbers would mean two things: pack both sources together.");
  HR_TRY(base.shards, PublishedShards::open(store, there));
  return base;
}

}  // namespace

Result<PackReport> pack(const PackOptions& options, Progress& progress) {
  HR_TRY(const auto store,
         open_store(options.out, options.fsync ? Durability::kDurable : Durability::kFast));
  return pack_to(*store, options, progress);
}

Result<PackReport> pack_to(Store& store, const PackOptions& asked, Progress& progress) {
  HR_TRY(const PackOptions options, as_the_base(store, asked));
  HR_TRY(const PackPlan plan, PackPlan::make(options));
  if (progress.stopped()) return Progress::interrupted();
  HR_TRY(Publication publication,
         Publication::look(
             store, {.plan = plan.digest(), .replace = options.replace, .append = options.append}));
  PackReport report = describe(plan, publication.shard_folder());
  if (publication.state() == Publication::State::kComplete) {
    report.complete_before = true;
    if (!options.dry_run) HR_CHECK(publication.clean());
    return report;
  }
  HR_TRY(const Base base, open_base(store, publication, plan));
  if (options.dry_run) return report;

  HR_TRY(const std::vector<bool> done, publication.find_all_done(plan.shards().size()));
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
  if (options.verify)
    HR_CHECK(read_all_back(store, publication, plan.shards().size(), options.threads, progress));

  Manifest facts;
  facts.container = plan.container();
  facts.classes = plan.set().classes;
  facts.tool = options.tool;
  facts.recipe = base.shards
                     ? make_recipe("pack", plan.options_json(), plan.digest(), base.manifest)
                     : make_recipe("pack", plan.options_json(), plan.digest());
  HR_TRY(const Manifest manifest,
         publication.finish(std::move(facts), plan.shards().size(), options.memory_bytes, progress,
                            base.shards ? &*base.shards : nullptr));
  report.fingerprint = manifest.fingerprint();
  if (!store.creates_atomically())
    report.notes.push_back(
        "this store cannot keep two jobs apart that begin to write to one place at the same "
        "instant: the one that ends last wins");
  if (publication.replaces())
    report.notes.push_back("the version before stays: 'headrace history', 'restore' and 'gc'");
  return report;
}

}  // namespace headrace
