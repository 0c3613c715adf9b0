#include "engine/run.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/block_signals.h"
#include "base/stop_scope.h"
#include "base/try.h"

namespace headrace {
namespace {

using Clock = Timer::Clock;

/// Below this much work a chunk's hand-over would show.
constexpr uint64_t kChunkNanoseconds = 150'000;
constexpr auto kInterruptPeriod = std::chrono::milliseconds(50);

Error stopped_error() { return {.code = Code::kInterrupted, .message = "the loader was stopped"}; }

void name_thread(unsigned number) {
#ifdef __linux__
  pthread_setname_np(pthread_self(), ("headrace-" + std::to_string(number)).c_str());
#else
  (void)number;
#endif
}

/// Tickets in flight of remote data sets: those beyond `depth` wait for their bytes, without slots.
constexpr size_t kMostAhead = 64;

/// So many before its end, a run makes room for the next epoch.
constexpr uint64_t kLastTickets = 2;

}  // namespace

/// A ticket, and what became of it.
struct Run::InFlight {
  uint64_t number = 0;  // of the step in this run
  std::unique_ptr<Ticket> ticket;
  bool has_bytes = true;  // false: reads that its rows wait for are under way
  bool is_admitted = false;
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
  if (options_.fetch) spans_.emplace(*options_.fetch, sets_);
  gate_->run = this;
  const BlockSignals block;
  for (unsigned i = 0; i < options_.threads; ++i)
    threads_.emplace_back([this, i] {
      name_thread(i);
      const StopScope scope(stop_.get_token());
      work();
    });
}

Run::~Run() {
  stop();
  {
    std::scoped_lock lock(gate_->mutex);
    gate_->run = nullptr;
  }
  for (std::thread& thread : threads_) thread.join();
}

void Run::stop() {
  {
    std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  stop_.request_stop();
  work_ready_.notify_all();
  batch_ready_.notify_all();
}

void Run::make_first() {
  {
    std::scoped_lock lock(mutex_);
    if (std::exchange(makes_first_, true)) return;
    admit();
  }
  work_ready_.notify_all();
}

bool Run::has_planned_all() const {
  std::scoped_lock lock(mutex_);
  return planned_ == options_.steps;
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
  if (!std::exchange(begun_, true)) {
    admit();
    work_ready_.notify_all();
  }
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
  if (front->is_admitted) {
    --admitted_;
    slot_bytes_ -= front->ticket->slot_bytes();
  }
  Result<RunBatch> result = std::move(*front->result);
  if (!result.ok()) failed_ = result.error();
  const size_t chunks = chunks_.size();
  admit();
  const bool more_work = chunks_.size() > chunks;
  lock.unlock();
  if (more_work)
    work_ready_.notify_all();
  else
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
  const size_t depth = spans_ ? kMostAhead : options_.depth;
  const bool many = begun_ || (spans_ && options_.fetch->ahead);
  if (tickets_.size() >= (many ? depth : 1)) return false;
  if (spans_) return tickets_.empty() || spans_->has_room();
  const uint64_t next_slot = tickets_.empty() ? 0 : tickets_.back()->ticket->slot_bytes();
  return tickets_.size() < 2 || slot_bytes_ + next_slot <= options_.memory_bytes;
}

void Run::plan_next(std::unique_lock<std::mutex>& lock) {
  planning_ = true;
  auto in_flight = std::make_unique<InFlight>();
  in_flight->number = planned_;
  lock.unlock();

  const auto begin = Clock::now();
  InFlight& ticket = *in_flight;
  auto status = plan_step(ticket);
  if (!status.ok())  // no rows: the error is its result
    ticket.ticket =
        std::make_unique<Ticket>(columns_, options_.epoch, 0, 0, std::vector<RowOrigin>(), false);
  timers_.plan.add(Clock::now() - begin);

  const uint32_t rows = ticket.ticket->size();
  lock.lock();
  planning_ = false;
  ++planned_;
  tickets_.push_back(std::move(in_flight));
  admit();
  work_ready_.notify_all();
  if (rows > 0) return;
  lock.unlock();
  if (!status.ok())
    publish(ticket, std::move(status).error());
  else
    finish(ticket);
  lock.lock();
}

Status Run::plan_step(InFlight& ticket) {
  HR_TRY(StepRows planned, options_.plan(ticket.number));
  load_views(planned.rows);
  ticket.ticket = std::make_unique<Ticket>(columns_, options_.epoch, planned.step, planned.total,
                                           std::move(planned.rows), options_.digests, planned.place,
                                           std::move(planned.packed));
  HR_CHECK(ticket.ticket->lay_out(finder_));
  if (spans_) return fetch(ticket, planned.parts);
  if (hints_.begin_ticket()) ticket.ticket->hint(hints_, sets_);
  return {};
}

/// Asks for the bytes of the ticket's rows.
Status Run::fetch(InFlight& ticket, std::span<const BlockPart> parts) {
  {
    std::scoped_lock lock(mutex_);
    ticket.has_bytes = false;
  }
  const auto waiter = std::make_shared<Countdown>([gate = gate_, &ticket] {
    std::scoped_lock lock(gate->mutex);
    if (gate->run != nullptr) gate->run->fetched(ticket);
  });
  HR_TRY(auto spans, spans_->fetch(ticket.ticket->rows_to_fetch(parts), waiter));
  ticket.ticket->read_from(std::move(spans));
  waiter->done();
  return {};
}

void Run::fetched(InFlight& ticket) {
  {
    std::scoped_lock lock(mutex_);
    ticket.has_bytes = true;
    put_chunks(ticket);
  }
  work_ready_.notify_all();
}

/// Lets planned tickets have slots while the budgets allow it. Precondition: the lock is held.
void Run::admit() {
  const size_t most = begun_ ? options_.depth : (makes_first_ ? 1 : 0);
  while (admitted_ < tickets_.size() && admitted_ < most) {
    InFlight& ticket = *tickets_[admitted_];
    const uint64_t bytes = ticket.ticket->slot_bytes();
    if (admitted_ >= 2 && slot_bytes_ + bytes > options_.memory_bytes) return;
    ++admitted_;
    slot_bytes_ += bytes;
    ticket.is_admitted = true;
    put_chunks(ticket);
  }
}

/// The rows of a ticket that is admitted and has its bytes become work, lowest ticket first.
/// Precondition: the lock is held.
void Run::put_chunks(InFlight& ticket) {
  if (!ticket.is_admitted || !ticket.has_bytes) return;
  auto at = chunks_.end();
  while (at != chunks_.begin() && std::prev(at)->ticket->number > ticket.number) --at;
  const uint32_t rows = ticket.ticket->size();
  const uint32_t chunk = chunk_rows(rows);
  std::vector<Chunk> chunks;
  for (uint32_t row = 0; row < rows; row += chunk)
    chunks.push_back({&ticket, row, std::min(rows, row + chunk)});
  chunks_.insert(at, chunks.begin(), chunks.end());
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
