#include "job/reshape/parts.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <queue>

#include "base/parallel.h"
#include "base/permutation.h"
#include "base/try.h"
#include "io/system_error.h"
#include "io/urls.h"
#include "job/fault_point.h"
#include "job/reshape/distribute.h"
#include "job/reshape/part_file.h"
#include "job/reshape/record_writer.h"

namespace headrace {
namespace {

// Pass 2 has them all open, and reads a piece of each.
constexpr uint64_t kMostParts = 500;
constexpr uint64_t kMostBuckets = 400;
constexpr unsigned kRemoteThreads = 32;

class Parts {
 public:
  Parts(const ReshapePlan& plan, const WorkRoom& room, Store& store, Publication& publication,
        Progress& progress)
      : plan_(plan),
        room_(room),
        store_(store),
        publication_(publication),
        progress_(progress),
        parts_(std::min(plan.tasks(), kMostParts)),
        layouts_(plan.inputs(), plan.assignment().fields, plan.assignment().rekey) {
    for (uint64_t task = 0; task < plan.tasks(); ++task) {
      const OutputShard shard = plan.shard(task);
      ends_.push_back(shard.first + shard.samples);
    }
  }

  Status make_missing(uint64_t task) {
    for (uint64_t round = task;; round = mix(round, task)) {
      HR_TRY(const std::vector<uint64_t> missing, look());
      if (missing.empty()) return {};
      HR_CHECK(make(missing[round % missing.size()]));
      fault_point("part");
    }
  }

  Status merge(uint64_t task) {
    std::vector<std::optional<PartReader>> readers(parts_);
    const size_t window =
        std::clamp<uint64_t>(room_.memory_bytes / 4 / parts_, size_t{64} << 10, size_t{4} << 20);
    const unsigned threads = is_remote_location(plan_.out()) ? kRemoteThreads : room_.threads;
    HR_CHECK(for_each(parts_, threads, [&](uint64_t part) -> Status {
      HR_TRY(auto source, store_.open_known(path(part), sizes_[part]));
      HR_TRY(readers[part], PartReader::open(std::move(source), plan_.tasks(), task, window));
      return {};
    }));
    const OutputShard shard = plan_.shard(task);
    ShardObject object(store_, publication_.shard_folder() + shard.name, layouts_.fields());
    HR_CHECK(merge_records(readers, shard, object));
    HR_TRY(const ShardRecord record, object.finish());
    return publication_.put_record(task, record);
  }

 private:
  std::string path(uint64_t part) const {
    const std::string digits = std::to_string(part);
    return publication_.scratch_folder() + std::string(6 - digits.size(), '0') + digits;
  }

  // Notes the sizes of those that are there.
  Result<std::vector<uint64_t>> look() {
    HR_TRY(const auto entries, store_.list(publication_.scratch_folder()));
    std::vector<uint64_t> missing;
    sizes_.assign(parts_, 0);
    for (uint64_t part = 0; part < parts_; ++part) {
      const auto found = std::ranges::find(entries, path(part), &StoreEntry::path);
      if (found == entries.end())
        missing.push_back(part);
      else
        sizes_[part] = found->bytes;
    }
    return missing;
  }

  static uint64_t scaled(uint64_t value, uint64_t times, uint64_t by) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(value) * times / by);
  }

  Status make(uint64_t part) {
    const Inputs& inputs = plan_.inputs();
    const uint64_t begin = scaled(inputs.samples(), part, parts_);
    const uint64_t end = scaled(inputs.samples(), part + 1, parts_);
    std::vector<uint32_t> shards;
    if (begin < end)
      for (uint32_t i = inputs.locate(begin).shard; i <= inputs.locate(end - 1).shard; ++i)
        shards.push_back(i);
    HR_TRY(auto buckets, open_buckets(begin, end));
    if (!distributor_) {
      HR_TRY(auto distributor, Distributor::make(plan_, layouts_, progress_, room_));
      distributor_.emplace(std::move(distributor));
    }
    const auto take = [&](uint64_t position, std::string_view head, ByteView tar) {
      return buckets[scaled(position, buckets.size(), plan_.order().size())]->add(head, tar);
    };
    HR_CHECK(for_each(shards.size(), room_.threads, [&](uint64_t i) {
      return distributor_->distribute(
          shards[i], begin, end, [](uint64_t) { return true; }, take);
    }));
    HR_CHECK(inputs.check_pins(shards, room_.threads));
    for (const auto& bucket : buckets) HR_CHECK(bucket->seal());
    return write(part, buckets);
  }

  Result<std::vector<std::unique_ptr<BucketFile>>> open_buckets(uint64_t begin, uint64_t end) {
    std::error_code problem;
    std::filesystem::create_directories(room_.scratch, problem);
    if (problem) return system_error("create folder", room_.scratch, problem.value());
    const uint64_t bytes = scaled(plan_.inputs().bytes() + 128 * plan_.inputs().samples(),
                                  end - begin, std::max<uint64_t>(1, plan_.inputs().samples()));
    const uint64_t count =
        std::clamp<uint64_t>(bytes / (room_.memory_bytes / 3 + 1) + 1, 1, kMostBuckets);
    const size_t buffer =
        std::clamp<uint64_t>(room_.memory_bytes / 4 / count, size_t{4} << 10, size_t{1} << 20);
    std::vector<std::unique_ptr<BucketFile>> buckets(count);
    for (auto& bucket : buckets) {
      HR_TRY(bucket, BucketFile::create(room_.scratch, buffer));
    }
    return buckets;
  }

  Status write(uint64_t part, const std::vector<std::unique_ptr<BucketFile>>& buckets) {
    HR_TRY(auto sink, store_.create(path(part)));
    PartWriter writer(std::move(sink), ends_);
    SegmentBuffer memory;
    for (const auto& bucket : buckets) {
      HR_TRY(const auto entries, bucket->load(memory));
      for (const BucketFile::Entry& entry : entries) HR_CHECK(writer.add(entry));
    }
    return writer.commit();
  }

  Status merge_records(std::vector<std::optional<PartReader>>& readers, const OutputShard& shard,
                       ShardObject& object) {
    using Next = std::pair<uint64_t, PartReader*>;  // position
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
    for (auto& reader : readers)
      if (!reader->at_end()) queue.emplace(reader->entry().position, &*reader);
    RecordWriter writer(object, layouts_.fields(), progress_);
    for (uint64_t position = shard.first; position < shard.first + shard.samples; ++position) {
      if (queue.empty() || queue.top().first != position)
        return damaged_between_passes("lacks samples", {.shard = shard.name});
      PartReader& reader = *queue.top().second;
      queue.pop();
      HR_CHECK(writer.add(reader.entry()));
      HR_CHECK(reader.move_on());
      if (!reader.at_end()) queue.emplace(reader.entry().position, &reader);
    }
    return writer.flush();
  }

  const ReshapePlan& plan_;
  const WorkRoom& room_;
  Store& store_;
  Publication& publication_;
  Progress& progress_;
  const uint64_t parts_;
  const SampleLayouts layouts_;
  std::vector<uint64_t> ends_;   // of each task: position
  std::vector<uint64_t> sizes_;  // of each part
  std::optional<Distributor> distributor_;
};

}  // namespace

Status write_from_parts(const ReshapePlan& plan, const WorkRoom& room, Store& store,
                        Publication& publication, uint64_t task, Progress& progress) {
  Parts parts(plan, room, store, publication, progress);
  HR_CHECK(parts.make_missing(task));
  return parts.merge(task);
}

}  // namespace headrace
