#include "engine/run.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/try.h"

namespace headrace {
namespace {

using Clock = Timer::Clock;

/// Below this much work a chunk's hand-over would show.
constexpr uint64_t kChunkNanoseconds = 150'000;
constexpr auto kInterruptPeriod = std::chrono::milliseconds(50);

Error stopped_error() { return {.code = Code::kInterrupted, .message = "the loader was stopped"}; }

/// Signals are the consumer's: threads of ours must not take a Ctrl-C away from it.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_{};
};

void name_thread(unsigned number) {
#ifdef __linux__
  pthread_setname_np(pthread_self(), ("headrace-" + std::to_string(number)).c_str());
#else
  (void)number;
#endif
}

/// So many before its end, a run makes room for the next epoch.
constexpr uint64_t kLastTickets = 2;

}  // namespace

/// A ticket, and what became of it.
struct Run::InFlight {
  std::unique_ptr<Ticket> ticket;
  std::optional<Result<RunBatch>> result;  // once finished
};

Run::Run(RunOptions options, const std::vector<std::shared_ptr<const Dataset>>& sets,
         const std::vector<ColumnPlan>& columns, const std::vector<FieldSpec>& fields,
         SlotPool& pool, Timers& timers)
    : options_(std::move(options)),
      sets_(sets),
      columns_(columns),
      pool_(pool),
      timers_(timers),
      finder_(sets, fields),
      pid_(getpid()) {
  const BlockSignals block;
  for (unsigned i = 0; i < options_.threads; ++i)
    threads_.emplace_back([this, i] {
      name_thread(i);
      work();
    });
}

Run::~Run() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

void Run::stop() {
  {
    std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  work_ready_.notify_all();
  batch_ready_.notify_all();
}

bool Run::has_room_for_next() const {
  std::scoped_lock lock(mutex_);
  const uint64_t left = options_.steps - planned_ + tickets_.size();
  const uint64_t next_slot = tickets_.empty() ? 0 : tickets_.back()->ticket->slot_bytes();
  return left <= kLastTickets && left < options_.depth &&
         (left == 0 || slot_bytes_ + next_slot <= options_.memory_bytes);
}

bool Run::forked() const { return getpid() != pid_; }

Result<RunBatch> Run::next(const std::function<bool()>& interrupted) {
  std::unique_lock lock(mutex_);
  if (!std::exchange(begun_, true)) work_ready_.notify_all();
  const auto begin = Clock::now();
  const auto is_ready = [this] {
    return stopped_ || failed_ || (tickets_.empty() && planned_ == options_.steps) ||
           (!tickets_.empty() && tickets_.front()->result);
  };
  while (!is_ready()) {
    batch_ready_.wait_for(lock, kInterruptPeriod, is_ready);
    if (is_ready() || !interrupted) continue;
    lock.unlock();
    const bool stop_now = interrupted();
    lock.lock();
    if (stop_now) return stopped_error();
  }
  timers_.consumer.add(Clock::now() - begin);
  if (stopped_) return stopped_error();
  if (failed_) return *failed_;
  if (tickets_.empty()) return RunBatch{};

  const std::unique_ptr<InFlight> front = std::move(tickets_.front());
  tickets_.pop_front();
  slot_bytes_ -= front->ticket->slot_bytes();
  Result<RunBatch> result = std::move(*front->result);
  if (!result.ok()) failed_ = result.error();
  lock.unlock();
  work_ready_.notify_one();
  return result;
}

void Run::work() {
  RowFiller filler(columns_, timers_, hints_, options_.on_error == OnError::kGray);
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (!errands_.empty()) {
      run_errand(lock);
    } else if (may_plan()) {
      plan_next(lock);
    } else if (!chunks_.empty()) {
      const Chunk chunk = chunks_.front();
      chunks_.pop_front();
      lock.unlock();
      fill_chunk(chunk, filler);
      lock.lock();
    } else {
      const auto begin = Clock::now();
      work_ready_.wait(lock);
      timers_.idle.add(Clock::now() - begin);
    }
  }
}

/// Planning comes before filling: it is short, and without it the other threads starve.
/// Precondition: the lock is held.
bool Run::may_plan() const {
  if (planning_ || failed_ || planned_ == options_.steps) return false;
  if (tickets_.size() >= (begun_ ? options_.depth : 1)) return false;
  const uint64_t next_slot = tickets_.empty() ? 0 : tickets_.back()->ticket->slot_bytes();
  return tickets_.size() < 2 || slot_bytes_ + next_slot <= options_.memory_bytes;
}

void Run::plan_next(std::unique_lock<std::mutex>& lock) {
  planning_ = true;
  const uint64_t step = planned_;
  lock.unlock();

  const auto begin = Clock::now();
  auto in_flight = std::make_unique<InFlight>();
  std::optional<Error> error;
  auto planned = options_.plan(step);
  if (planned.ok()) {
    load_views(planned->rows);
    in_flight->ticket =
        std::make_unique<Ticket>(columns_, options_.epoch, planned->step, planned->total,
                                 std::move(planned->rows), options_.digests, planned->place);
    if (auto status = in_flight->ticket->lay_out(finder_); !status.ok())
      error = std::move(status).error();
    else if (hints_.begin_ticket())
      in_flight->ticket->hint(hints_, sets_);
  } else {
    error = std::move(planned).error();
    in_flight->ticket =
        std::make_unique<Ticket>(columns_, options_.epoch, 0, 0, std::vector<RowOrigin>(), false);
  }
  timers_.plan.add(Clock::now() - begin);

  InFlight& ticket = *in_flight;
  const uint32_t rows = error ? 0 : ticket.ticket->size();
  const uint32_t chunk = chunk_rows(rows);
  lock.lock();
  planning_ = false;
  ++planned_;
  slot_bytes_ += ticket.ticket->slot_bytes();
  tickets_.push_back(std::move(in_flight));
  for (uint32_t at = 0; at < rows; at += chunk)
    chunks_.push_back({&ticket, at, std::min(rows, at + chunk)});
  work_ready_.notify_all();
  if (rows > 0) return;
  lock.unlock();
  if (error)
    publish(ticket, std::move(*error));
  else
    finish(ticket);
  lock.lock();
}

/// Loads what is missing of the rows' views, with the help of every thread that has nothing to do.
void Run::load_views(std::span<const RowOrigin> rows) {
  const auto missing = finder_.missing(rows);
  if (missing.size() < 2) return;
  std::vector<std::shared_ptr<const ShardView>> views(missing.size());
  {
    std::unique_lock lock(mutex_);
    for (size_t i = 0; i < missing.size(); ++i) errands_.push_back({missing[i], &views[i]});
    errands_left_ = missing.size();
    work_ready_.notify_all();
    while (!errands_.empty()) run_errand(lock);
    errands_done_.wait(lock, [this] { return errands_left_ == 0; });
  }
  for (size_t i = 0; i < missing.size(); ++i)
    if (views[i]) finder_.keep(missing[i], std::move(views[i]));
}

/// Precondition: the lock is held, errands_ is not empty.
void Run::run_errand(std::unique_lock<std::mutex>& lock) {
  const Errand errand = errands_.front();
  errands_.pop_front();
  lock.unlock();
  auto view = finder_.load(errand.shard);
  if (view.ok()) *errand.view = std::move(*view);
  lock.lock();
  if (--errands_left_ == 0) errands_done_.notify_one();
}

uint32_t Run::chunk_rows(uint32_t rows) const {
  const uint64_t cost = std::max<uint64_t>(row_nanoseconds_.load(std::memory_order_relaxed), 1);
  const uint64_t share = std::max<uint64_t>(rows / std::max(options_.threads, 1U), 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(kChunkNanoseconds / cost, 1, share));
}

void Run::fill_chunk(Chunk chunk, RowFiller& filler) {
  const auto begin = Clock::now();
  Ticket& ticket = *chunk.ticket->ticket;
  ticket.take_slot(pool_);
  filler.begin_chunk();
  for (uint32_t i = chunk.begin; i < chunk.end; ++i) {
    const RowOrigin& row = ticket.row(i);
    ticket.fill(i, filler, *sets_[row.set], {options_.seed, options_.epoch, row.position});
  }
  filler.end_chunk();
  const uint32_t rows = chunk.end - chunk.begin;
  const auto spent =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
  const uint64_t average = row_nanoseconds_.load(std::memory_order_relaxed);
  row_nanoseconds_.store((7 * average + static_cast<uint64_t>(spent) / rows) / 8,
                         std::memory_order_relaxed);
  if (ticket.count_down(rows)) finish(*chunk.ticket);
}

void Run::finish(InFlight& ticket) {
  auto batch = ticket.ticket->finish(sets_, pool_, options_.on_error,
                                     options_.mixer ? &*options_.mixer : nullptr);
  if (!batch.ok()) return publish(ticket, std::move(batch).error());
  publish(ticket, RunBatch{std::move(*batch), ticket.ticket->digests()});
}

void Run::publish(InFlight& ticket, Result<RunBatch> result) {
  {
    std::scoped_lock lock(mutex_);
    ticket.result = std::move(result);
  }
  batch_ready_.notify_one();
}

}  // namespace headrace
