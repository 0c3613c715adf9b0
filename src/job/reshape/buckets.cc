#include "job/reshape/buckets.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "base/parallel.h"
#include "base/try.h"
#include "io/system_error.h"
#include "job/reshape/bucket_file.h"
#include "job/reshape/distribute.h"
#include "job/reshape/record_writer.h"

namespace headrace {
namespace {

constexpr uint64_t kMostBuckets = 4000;

/// Positions [begin, end) of the output.
struct Bucket {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::unique_ptr<BucketFile> file;
};

/// What one thread writes in pass 2: a shard of one or more buckets, or one bucket of several
/// shards.
struct Unit {
  std::vector<uint64_t> tasks;
  size_t first_bucket = 0;
  size_t buckets = 1;
};

class TwoPasses {
 public:
  TwoPasses(const ReshapePlan& plan, const WorkRoom& room, Store& store, Publication& publication,
            Progress& progress)
      : plan_(plan),
        room_(room),
        store_(store),
        publication_(publication),
        progress_(progress),
        layouts_(plan.inputs(), plan.assignment().fields, plan.assignment().rekey) {}

  Status run(const std::vector<uint64_t>& tasks) {
    HR_TRY(auto distributor, Distributor::make(plan_, layouts_, progress_, room_));
    distributor_.emplace(std::move(distributor));
    cut(tasks);
    HR_CHECK(open_buckets());
    HR_CHECK(for_each(plan_.inputs().shards(), room_.threads,
                      [this](uint64_t shard) { return distribute(static_cast<uint32_t>(shard)); }));
    uint64_t largest = 0;
    for (const Bucket& bucket : buckets_) {
      HR_CHECK(bucket.file->seal());
      largest = std::max(largest, bucket.file->size());
    }
    memory_.emplace(room_.threads, largest, largest);
    return for_each(units_.size(), room_.threads,
                    [this](uint64_t unit) { return write_unit(units_[unit]); });
  }

 private:
  // About the samples of one bucket: a third of the memory for what is loaded.
  uint64_t bucket_samples() const {
    const uint64_t mean =
        plan_.inputs().bytes() / std::max<uint64_t>(1, plan_.inputs().samples()) + 128;
    return std::max<uint64_t>(1, room_.memory_bytes / (3 * room_.threads) / mean);
  }

  void cut(const std::vector<uint64_t>& tasks) {
    const uint64_t most = bucket_samples();
    for (const uint64_t task : tasks) {
      const OutputShard shard = plan_.shard(task);
      const uint64_t end = shard.first + shard.samples;
      const bool joins = !units_.empty() && units_.back().buckets == 1 &&
                         buckets_.back().end == shard.first && end - buckets_.back().begin <= most;
      if (joins) {
        units_.back().tasks.push_back(task);
        buckets_.back().end = end;
        continue;
      }
      const uint64_t parts = std::max<uint64_t>(1, (shard.samples + most - 1) / most);
      units_.push_back({{task}, buckets_.size(), parts});
      for (uint64_t part = 0; part < parts; ++part)
        buckets_.push_back({shard.first + shard.samples * part / parts,
                            shard.first + shard.samples * (part + 1) / parts, nullptr});
    }
  }

  Status open_buckets() {
    if (buckets_.size() > kMostBuckets)
      return Error{.code = Code::kUsage,
                   .message = "so little memory makes " + std::to_string(buckets_.size()) +
                              " buckets, more than files can be open",
                   .hint = "Give more --memory."};
    std::error_code problem;
    std::filesystem::create_directories(room_.scratch, problem);
    if (problem) return system_error("create folder", room_.scratch, problem.value());
    const size_t buffer = std::clamp<uint64_t>(room_.memory_bytes / 4 / buckets_.size(),
                                               size_t{4} << 10, size_t{1} << 20);
    for (Bucket& bucket : buckets_) {
      HR_TRY(bucket.file, BucketFile::create(room_.scratch, buffer));
    }
    return {};
  }

  // The bucket that holds the position; nothing if no task of ours does.
  Bucket* find_bucket(uint64_t position) {
    const auto after = std::ranges::upper_bound(buckets_, position, {}, &Bucket::begin);
    if (after == buckets_.begin() || position >= (after - 1)->end) return nullptr;
    return &*(after - 1);
  }

  Status distribute(uint32_t shard) {
    return distributor_->distribute(
        shard, 0, plan_.inputs().samples(),
        [this](uint64_t position) { return find_bucket(position) != nullptr; },
        [this](uint64_t position, std::string_view head, ByteView tar) {
          return find_bucket(position)->file->add(head, tar);
        });
  }

  Status write_unit(const Unit& unit) {
    SegmentBuffer memory = memory_->take();
    Status written = write_unit(unit, memory);
    memory_->give(std::move(memory));
    return written;
  }

  Status write_unit(const Unit& unit, SegmentBuffer& memory) {
    size_t number = unit.first_bucket;
    HR_TRY(auto entries, buckets_[number].file->load(memory));
    size_t at = 0;
    for (const uint64_t task : unit.tasks) {
      const OutputShard shard = plan_.shard(task);
      const uint64_t end = shard.first + shard.samples;
      ShardObject object(store_, publication_.shard_folder() + shard.name, layouts_.fields());
      while (true) {
        HR_CHECK(write_entries(entries, at, end, object));
        if (at < entries.size() || ++number >= unit.first_bucket + unit.buckets) break;
        HR_TRY(entries, buckets_[number].file->load(memory));
        at = 0;
      }
      HR_TRY(const ShardRecord record, object.finish());
      HR_CHECK(publication_.put_record(task, record));
    }
    return {};
  }

  // Up to position `end` or the end of the bucket.
  Status write_entries(const std::vector<BucketFile::Entry>& entries, size_t& at, uint64_t end,
                       ShardObject& object) {
    RecordWriter writer(object, layouts_.fields(), progress_);
    for (; at < entries.size() && entries[at].position < end; ++at)
      HR_CHECK(writer.add(entries[at]));
    return writer.flush();
  }

  const ReshapePlan& plan_;
  const WorkRoom& room_;
  Store& store_;
  Publication& publication_;
  Progress& progress_;
  const SampleLayouts layouts_;
  std::optional<Distributor> distributor_;
  std::vector<Bucket> buckets_;
  std::vector<Unit> units_;
  std::optional<BufferPool> memory_;  // for a bucket a thread
};

}  // namespace

Status bucket_shards(const ReshapePlan& plan, const WorkRoom& room, Store& store,
                     Publication& publication, const std::vector<uint64_t>& tasks,
                     Progress& progress) {
  if (tasks.empty()) return {};
  return TwoPasses(plan, room, store, publication, progress).run(tasks);
}

}  // namespace headrace
