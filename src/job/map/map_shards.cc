#include "job/map/map_shards.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/first_error.h"
#include "base/parallel.h"
#include "base/try.h"
#include "format/shard_index.h"
#include "job/in_order.h"
#include "job/map/mapped_shard.h"
#include "job/map/mapper.h"
#include "job/reshape/segment.h"

namespace headrace {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);  // whether to stop

// A sample on its way from the input to its shard.
struct Unit {
  uint64_t task = 0;
  uint64_t number = 0;  ///< in the shard
  bool last = false;
  Pick pick = {};
  std::shared_ptr<const ShardIndex> index = {};  ///< keeps that of `pick`
  uint64_t read_bytes = 0;
  uint64_t held_bytes = 0;
  Mapped mapped = {};
};

class MapRun {
 public:
  MapRun(const ReshapePlan& plan, const MapOptions& options, Store& store, Publication& publication,
         const std::vector<uint64_t>& tasks, Progress& progress)
      : plan_(plan),
        step_(*plan.assignment().map),
        options_(options),
        store_(store),
        publication_(publication),
        tasks_(tasks),
        progress_(progress),
        indexes_(plan.inputs()),
        picks_(plan.inputs(), plan.order(), indexes_) {
    begin_task();
  }

  Result<PictureReport> run() {
    if (!needs_sandbox(step_)) return run_in(nullptr);
    HR_TRY(const SandboxRoot root, SandboxRoot::create(options_.scratch));
    return run_in(&root);
  }

 private:
  Result<PictureReport> run_in(const SandboxRoot* root) {
    const std::jthread watch([this](const std::stop_token& done) { kill_on_stop(done); });
    std::atomic<unsigned> number{0};
    run_on_threads(threads(), [&] { work(root, number++); });
    if (error_.is_set()) return error_.take().error();
    if (progress_.stopped() && !(task_ == tasks_.size() && shards_.empty()))
      return Progress::interrupted();
    return pictures_;
  }

  // Over a network they wait for answers most of the time; commands and functions are as many as
  // was said.
  unsigned threads() const {
    constexpr unsigned kRemoteThreads = 32;
    const bool waits = !needs_sandbox(step_) && plan_.inputs().is_remote();
    return waits ? std::max(options_.threads, kRemoteThreads) : options_.threads;
  }

  void kill_on_stop(const std::stop_token& done) {
    while (!done.stop_requested() && !progress_.stopped())
      std::this_thread::sleep_for(kBetweenLooks);
    if (progress_.stopped()) children_.kill_all();
  }

  void work(const SandboxRoot* root, unsigned thread) {
    auto mapper = make_mapper(step_, children_, root, options_.python, thread);
    if (!mapper.ok()) return fail({}, std::move(mapper).error());
    while (auto unit = next()) {
      Status status = map(**mapper, *unit);
      if (progress_.stopped()) break;  // its process may have been killed for that
      const Unit where{
          .task = unit->task, .number = unit->number, .pick = unit->pick, .index = unit->index};
      if (status.ok()) status = deliver(*std::move(unit));
      if (!status.ok()) fail(where, std::move(status).error());
    }
    changed_.notify_all();
  }

  void begin_task() {
    if (task_ == tasks_.size()) return;
    shard_ = plan_.shard(tasks_[task_]);
    number_ = 0;
  }

  // The next sample, when there is memory for it. Nothing at the end.
  std::optional<Unit> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return error_.is_set() || progress_.stopped() || held_bytes_ < options_.memory_bytes;
    });
    if (error_.is_set() || progress_.stopped() || task_ == tasks_.size()) return std::nullopt;
    Unit unit{.task = tasks_[task_], .number = number_, .last = number_ + 1 == shard_.samples};
    if (Status read = picks_.read(shard_.first + number_); !read.ok()) {
      set_error(unit.task, unit.number, std::move(read).error());
      return std::nullopt;
    }
    unit.pick = picks_.picks().front();
    unit.index = picks_.indexes().front();
    unit.held_bytes = unit.read_bytes = picks_.bytes();
    held_bytes_ += unit.held_bytes;
    ++number_;
    if (unit.last) {
      ++task_;
      begin_task();
    }
    return unit;
  }

  Status map(Mapper& mapper, Unit& unit) {
    HR_TRY(MapSample sample, read(unit));
    HR_TRY(unit.mapped, mapper.run(std::move(sample), unit.pick.position));
    if (unit.mapped.failed.empty() && needs_sandbox(step_)) {  // names that somebody else made
      for (const MapSample& made : unit.mapped.samples)
        if (const Status named = check_names(made); !named.ok())
          unit.mapped.failed = named.error().message;
    }
    if (unit.mapped.failed.empty() || step_.skip) return {};
    return unit.mapped.picture.empty() ? failed(unit) : undecodable(unit);
  }

  static Error failed(const Unit& unit) {
    return {.message = unit.mapped.failed,
            .hint = "Mend it, or leave such samples out with --on-error skip."};
  }

  static Error undecodable(const Unit& unit) {
    const ShardIndex& index = *unit.pick.index;
    Error error{.code = Code::kCorrupt,
                .message = "the picture cannot be decoded: " + unit.mapped.failed,
                .hint = "Mend it, or leave such samples out with --drop-corrupt."};
    for (const IndexMember& member : index.members(unit.pick.sample))
      if (index.fields()[member.field] == unit.mapped.picture) error.origin = origin(unit, member);
    return error;
  }

  static Origin origin(const Unit& unit, const IndexMember& member) {
    const ShardIndex& index = *unit.pick.index;
    return {.member = std::string(index.key(unit.pick.sample)) + "." + index.fields()[member.field],
            .offset = member.offset};
  }

  Result<MapSample> read(const Unit& unit) const {
    const ShardIndex& index = *unit.pick.index;
    HR_TRY(const auto source, plan_.inputs().source(unit.pick.shard));
    MapSample sample{.key = key(unit), .fields = {}};
    for (const IndexMember& member : index.members(unit.pick.sample)) {
      std::string bytes(member.size, '\0');
      HR_CHECK(source->read_at(member.offset, as_writable_bytes(bytes)));
      if (is_damaged(as_bytes(bytes), index.checksum(member)))
        return damaged_payload(origin(unit, member));
      sample.fields.push_back({.name = index.fields()[member.field],
                               .bytes = std::move(bytes),
                               .measure = index.measure(member)});
    }
    return sample;
  }

  std::string key(const Unit& unit) const {
    return plan_.assignment().rekey ? numbered_key(unit.pick.position)
                                    : std::string(unit.pick.index->key(unit.pick.sample));
  }

  Status deliver(Unit unit) {
    const uint64_t before = unit.held_bytes;
    for (const MapSample& sample : unit.mapped.samples)
      for (const MapField& field : sample.fields) unit.held_bytes += field.bytes.size();
    Shard* shard = nullptr;
    {
      const std::lock_guard lock(mutex_);
      held_bytes_ += unit.held_bytes - before;
      std::unique_ptr<Shard>& known = shards_[unit.task];
      if (!known) known = std::make_unique<Shard>(plan_, store_, publication_, unit.task);
      shard = known.get();
    }
    const uint64_t task = unit.task;
    const uint64_t number = unit.number;
    bool finished = false;
    HR_TRY(const bool taken, shard->units.add(number, std::move(unit), [&](Unit ready) {
      finished = ready.last;
      return write(*shard, ready);
    }));
    static_cast<void>(taken);  // nothing drops them
    if (!finished) return {};
    const std::lock_guard lock(mutex_);
    shards_.erase(task);
    return {};
  }

  struct Shard {
    Shard(const ReshapePlan& plan, Store& store, Publication& publication, uint64_t task)
        : mapped(store, publication, task, publication.shard_folder() + plan.shard(task).name,
                 plan.container()) {}
    InOrder<Unit> units;
    MappedShard mapped;
  };

  Status write(Shard& shard, Unit& unit) {
    if (!unit.mapped.failed.empty() || unit.mapped.samples.empty())
      shard.mapped.skip(skipped(unit));
    else
      for (const MapSample& sample : unit.mapped.samples) HR_CHECK(shard.mapped.add(sample));
    if (unit.last) HR_CHECK(shard.mapped.finish());
    progress_.bytes += unit.read_bytes;
    ++progress_.items;
    const std::lock_guard lock(mutex_);
    pictures_.add(unit.mapped.pictures);
    held_bytes_ -= unit.held_bytes;
    changed_.notify_all();
    return {};
  }

  SkippedSample skipped(const Unit& unit) const {
    const Mapped& mapped = unit.mapped;
    SkippedSample sample{.key = key(unit),
                         .file = "",
                         .reason = mapped.failed.empty() ? "nothing was left of it" : mapped.failed,
                         .corrupt = !mapped.picture.empty()};
    if (!sample.corrupt) return sample;
    const auto shard = plan_.inputs().shard_name(unit.pick.shard);
    sample.file = (shard.ok() ? *shard + "/" : "") +
                  std::string(unit.pick.index->key(unit.pick.sample)) + "." + mapped.picture;
    return sample;
  }

  // Samples are taken in order, so those before a failed one are under way and will be heard.
  void fail(const Unit& where, Error error) {
    if (progress_.stopped()) return;  // what was killed fails
    if (where.pick.index != nullptr) {
      const auto name = plan_.inputs().shard_name(where.pick.shard);
      error = std::move(error).at({.shard = name.ok() ? *name : "",
                                   .member = std::string(key(where)),
                                   .offset = Origin::kNoOffset});
    }
    const std::lock_guard lock(mutex_);
    set_error(where.task, where.number, std::move(error));
  }

  void set_error(uint64_t task, uint64_t number, Error error) {
    changed_.notify_all();
    error_.set(task, number, std::move(error));
  }

  const ReshapePlan& plan_;
  const MapStep& step_;
  const MapOptions& options_;
  Store& store_;
  Publication& publication_;
  const std::vector<uint64_t>& tasks_;
  Progress& progress_;
  Children children_;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  IndexTable indexes_;
  PickReader picks_;
  size_t task_ = 0;      // number in tasks_ of the next sample's
  uint64_t number_ = 0;  // of the next sample in the shard
  OutputShard shard_;
  uint64_t held_bytes_ = 0;
  std::map<uint64_t, std::unique_ptr<Shard>> shards_;
  FirstError error_;
  PictureReport pictures_;
};

}  // namespace

Result<PictureReport> map_shards(const ReshapePlan& plan, const MapOptions& options, Store& store,
                                 Publication& publication, const std::vector<uint64_t>& tasks,
                                 Progress& progress) {
  Result<PictureReport> done = PictureReport();
  if (!tasks.empty()) done = MapRun(plan, options, store, publication, tasks, progress).run();
  // Also after a run that had only its marker left to write.
  if (needs_sandbox(*plan.assignment().map)) SandboxRoot::sweep(options.scratch);
  return done;
}

}  // namespace headrace
