#include "io/http/transfer_loop.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stop_token>

#include "base/block_signals.h"
#include "base/stop_scope.h"
#include "base/try.h"
#include "io/http/redirect.h"
#include "io/http/retry.h"

namespace headrace {
namespace {

constexpr auto kLongestWait = std::chrono::milliseconds(1000);
constexpr auto kHedgePeriod = std::chrono::milliseconds(20);
/// A host that has never answered is not worth more: its name is wrong, or it is not there.
constexpr unsigned kAttemptsOfUnknownHost = 3;
constexpr uint64_t kMostHedgeBytes = uint64_t{16} << 20;

Error interrupted_error(const std::string& object) {
  return {.code = Code::kInterrupted,
          .message = "the request was given up because nobody waits for it any more",
          .origin = {.shard = object}};
}

}  // namespace

/// A call on its way.
struct TransferLoop::Job {
  HttpCall call;
  Fetcher::Done done;
  HttpRequest request;  // as of now: redirects change it
  bool is_signed = true;
  unsigned attempts = 0;
  unsigned redirects = 0;
  unsigned live = 0;
  bool hedged = false;
  uint64_t received = 0;  // bytes at the front of the memory that earlier attempts brought
  uint64_t sequence = 0;
  Clock::time_point begin = Clock::now();
  std::stop_token stop = current_stop();  // of the thread that started it
  std::optional<std::stop_callback<std::function<void()>>> on_stop = std::nullopt;

  bool may_keep_bytes() const { return request.range && call.check; }
  MutableBytes rest() const {
    return request.into.empty() ? MutableBytes() : request.into.subspan(received);
  }
};

bool TransferLoop::MoreUrgent::operator()(const JobPointer& a, const JobPointer& b) const {
  if (a->call.deadline != b->call.deadline) return a->call.deadline < b->call.deadline;
  return a->sequence < b->sequence;
}

TransferLoop::TransferLoop(const FetcherOptions& options)
    : options_(options), multi_(curl().multi_init()), events_(multi_.get()) {
  if (!events_.status().ok()) return;
  curl().multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, 256L);
  const BlockSignals block;
  thread_ = std::thread([this] { run(); });
}

TransferLoop::~TransferLoop() { stop(); }

void TransferLoop::stop() {
  {
    std::scoped_lock lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  if (!thread_.joinable()) return;
  events_.wake();
  thread_.join();
}

void TransferLoop::start(HttpCall call, Fetcher::Done done) {
  if (const Status& usable = events_.status(); !usable.ok())
    return done(Error(usable.error()).at({.shard = call.object}));
  auto job = std::make_shared<Job>();
  job->request = call.request;
  job->call = std::move(call);
  job->done = std::move(done);
  if (job->stop.stop_possible())
    job->on_stop.emplace(job->stop, [this] {
      some_stopped_ = true;
      events_.wake();
    });
  {
    std::scoped_lock lock(mutex_);
    job->sequence = sequence_++;
    if (!stopping_) incoming_.push_back(std::exchange(job, nullptr));
  }
  if (job) return job->done(interrupted_error(job->call.object));
  events_.wake();
}

std::map<std::string, HostCounters> TransferLoop::counters() const {
  std::scoped_lock lock(mutex_);
  return counters_;
}

void TransferLoop::run() {
#ifdef __linux__
  pthread_setname_np(pthread_self(), "headrace-http");
#endif
  while (true) {
    {
      std::scoped_lock lock(mutex_);
      if (stopping_) break;
    }
    take_incoming();
    end_stopped();
    const auto now = Clock::now();
    release_delayed(now);
    send_waiting(now);
    start_hedges(now);
    events_.wait(next_look(now));
    collect_ended();
  }
  interrupt_all();
}

std::set<TransferLoop::JobPointer> TransferLoop::all_jobs() const {
  std::set<JobPointer> jobs;
  for (const auto& [easy, live] : live_) jobs.insert(live.job);
  for (const auto& [name, host] : hosts_) jobs.insert(host.waiting.begin(), host.waiting.end());
  for (const auto& [when, job] : delayed_) jobs.insert(job);
  return jobs;
}

void TransferLoop::interrupt(const JobPointer& job) {
  drop_live(job);
  job->done(interrupted_error(job->call.object));
}

void TransferLoop::interrupt_all() {
  take_incoming();
  for (const JobPointer& job : all_jobs()) interrupt(job);
  hosts_.clear();  // what calls hold may hold the fetcher
  delayed_.clear();
}

/// Calls whose thread was told to stop. What is in flight and nobody waits for may come to its end,
/// so that its connection remains; it is not repeated.
void TransferLoop::end_stopped() {
  if (!some_stopped_.exchange(false)) return;
  for (const JobPointer& job : all_jobs()) {
    const bool is_awaited = job->call.deadline == kNow;
    if (!job->stop.stop_requested() || (job->live > 0 && !is_awaited)) continue;
    host(*job).waiting.erase(job);
    std::erase_if(delayed_, [&](const auto& each) { return each.second == job; });
    interrupt(job);
  }
}

void TransferLoop::take_incoming() {
  std::vector<JobPointer> jobs;
  {
    std::scoped_lock lock(mutex_);
    jobs.swap(incoming_);
  }
  for (const JobPointer& job : jobs) {
    if (job->stop.stop_requested()) some_stopped_ = true;  // before it was here
    enqueue(job);
  }
}

TransferLoop::Host& TransferLoop::host(const Job& job) {
  const std::string name = job.request.url.origin();
  return hosts_.try_emplace(name, options_, name).first->second;
}

void TransferLoop::enqueue(const JobPointer& job) { host(*job).waiting.insert(job); }

void TransferLoop::release_delayed(Clock::time_point now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    enqueue(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
  }
}

void TransferLoop::send_waiting(Clock::time_point now) {
  for (auto& [name, host] : hosts_) {
    host.budget.update(host.pace.in_flight(), host.wanted(), now);
    while (!host.waiting.empty() && host.may_send(now)) {
      const JobPointer job = *host.waiting.begin();
      host.waiting.erase(host.waiting.begin());
      send(job, host, false);
    }
  }
}

/// A read whose first byte takes longer than nearly all others is asked for once more; whichever
/// answer comes first counts.
void TransferLoop::start_hedges(Clock::time_point now) {
  if (!options_.hedge || now < next_hedges_) return;
  next_hedges_ = now + kHedgePeriod;
  std::vector<JobPointer> slow;
  for (auto& [easy, live] : live_) {
    const Job& job = *live.job;
    const bool may = !job.hedged && job.call.retry && job.request.method == "GET" &&
                     !job.request.into.empty() && job.request.into.size() <= kMostHedgeBytes;
    if (!may || live.attempt->first_byte()) continue;
    const auto limit = host(job).pace.slow_first_byte();
    if (limit && now - live.attempt->begin() > *limit) slow.push_back(live.job);
  }
  for (const JobPointer& job : slow) {
    Host& its_host = host(*job);
    if (!its_host.may_send(now) || !its_host.pace.take_hedge()) continue;
    job->hedged = true;
    send(job, its_host, true);
  }
}

void TransferLoop::send(const JobPointer& job, Host& host, bool hedge) {
  HttpRequest request = job->request;
  Live live{.attempt = nullptr, .job = job, .memory = nullptr};
  request.into = job->rest();
  live.weight = HostPace::weight_of(std::max(request.into.size(), request.body.size()));
  if (hedge) {
    live.memory = std::make_unique_for_overwrite<std::byte[]>(request.into.size());
    request.into = MutableBytes(live.memory.get(), request.into.size());
  }
  if (request.range) {
    request.range->first += job->received;
    request.headers.set("Range", "bytes=" + std::to_string(request.range->first) + "-" +
                                     std::to_string(request.range->last));
  }
  if (job->call.signer && job->is_signed) {
    if (auto status = job->call.signer->sign(request); !status.ok())
      return deliver(job, std::move(status).error());
  }
  if (!hedge) ++job->attempts;
  ++job->live;
  live.attempt = std::make_unique<Attempt>(options_, job->call, std::move(request), host.pace,
                                           handles_.take());
  CURL* easy = live.attempt->handle();
  host.pace.sent(live.weight, Clock::now());
  live_[easy] = std::move(live);
  curl().multi_add_handle(multi_.get(), easy);
}

void TransferLoop::collect_ended() {
  int left = 0;
  while (const CURLMsg* message = curl().multi_info_read(multi_.get(), &left))
    if (message->msg == CURLMSG_DONE) ended(message->easy_handle, message->data.result);
}

void TransferLoop::ended(CURL* easy, CURLcode code) {
  const auto found = live_.find(easy);
  Live live = std::move(found->second);
  live_.erase(found);
  curl().multi_remove_handle(multi_.get(), easy);
  const JobPointer& job = live.job;
  --job->live;

  Host& its_host = host(*job);
  HostPace& pace = its_host.pace;
  pace.ended(live.weight, !its_host.waiting.empty(), Clock::now());
  if (const auto first_byte = live.attempt->first_byte()) pace.answered(*first_byte);

  Attempt::Outcome outcome = live.attempt->finish(code);
  const bool won = outcome.result.ok() && !is_worth_another_attempt(outcome.result->status);
  if (!won && job->live > 0) {  // its twin is still on its way
    heed(*job, outcome, Clock::now());
    return;
  }
  if (won) drop_live(job);
  if (live.memory && won && outcome.result->is_success()) {
    const MutableBytes rest = job->rest();
    std::memcpy(rest.data(), live.memory.get(), rest.size());
  }
  if (!won && !live.memory && job->may_keep_bytes()) {
    // An answer may break at its very last byte: one is asked for again, so that a range remains.
    job->received += std::min<uint64_t>(live.attempt->good_bytes(), job->rest().size() - 1);
  }
  const std::string origin = job->request.url.origin();  // it may be sent elsewhere
  judge(job, std::move(outcome));
  std::scoped_lock lock(mutex_);
  counters_[origin] = pace.counters;
}

void TransferLoop::judge(const JobPointer& job, Attempt::Outcome outcome) {
  const bool stopped = job->stop.stop_requested();
  if (!stopped && may_be_repeated(job, outcome) && try_again(job, outcome)) return;
  if (!outcome.result.ok()) {
    Error error = std::move(outcome.result).error();
    if (job->attempts > 1)
      error.message += ", after " + std::to_string(job->attempts) + " attempts";
    return deliver(job, std::move(error));
  }
  HttpResponse& response = *outcome.result;
  const bool redirect = response.status >= 301 && response.status <= 308 && response.status != 304;
  if (redirect && job->redirects < job->call.redirects && response.headers.find("Location"))
    return follow(job, response);
  response.body_bytes += job->received;
  HostPace& pace = host(*job).pace;
  pace.counters.bytes_needed += response.body_bytes;
  if (response.is_success()) pace.succeeded();
  deliver(job, std::move(response));
}

/// Whether this outcome is not the last word; the call may name another place for the next attempt.
bool TransferLoop::may_be_repeated(const JobPointer& job, Attempt::Outcome& outcome) {
  const HttpResponse* answer = outcome.result.ok() ? &*outcome.result : nullptr;
  const bool usual = answer == nullptr ? outcome.retry : is_worth_another_attempt(answer->status);
  if (!job->call.again || (answer != nullptr && answer->status < 400)) return usual;
  Url url = job->request.url;
  if (!job->call.again(url, answer, usual)) return false;
  // Only the call knows why such an answer passes: as a rule it is a service that starts again.
  if (!usual) outcome.serving = false;
  if (url == job->request.url) return true;
  job->request = job->call.request;
  job->request.url = std::move(url);
  job->is_signed = true;
  job->redirects = 0;
  return true;
}

void TransferLoop::follow(const JobPointer& job, const HttpResponse& response) {
  auto next = redirected(job->request, response);
  if (!next.ok()) return deliver(job, std::move(next).error().at({.shard = job->call.object}));
  ++job->redirects;
  ++host(*job).pace.counters.redirects;
  const bool trusted = next->url.same_origin(job->request.url) ||
                       (job->call.trusted && job->call.trusted(next->url));
  job->is_signed = job->is_signed && trusted;
  job->request = std::move(*next);
  --job->attempts;  // a hop is not a failure
  job->hedged = false;
  enqueue(job);
}

/// Random delays can be short by chance, all of them: where hundreds of requests wait for a server
/// that starts again, one would give up too soon if attempts alone were counted.
bool TransferLoop::has_tried_enough(const Job& job, bool serving, Clock::time_point now) {
  const bool known = host(job).pace.has_answered();
  if (!serving && !known) return job.attempts >= kAttemptsOfUnknownHost;
  if (job.attempts < options_.max_attempts) return false;
  return serving || now - job.begin >= options_.restart_time;
}

/// How long to wait before the next attempt. What a host says of its load holds for all requests.
std::chrono::milliseconds TransferLoop::heed(const Job& job, const Attempt::Outcome& outcome,
                                             Clock::time_point now) {
  auto delay = jittered_delay(options_, job.attempts, random_);
  if (!outcome.result.ok()) return delay;
  if (const auto asked = asked_delay(*outcome.result)) delay += *asked;
  if (!is_throttling(outcome.result->status)) return delay;
  host(job).pace.throttled(delay, now);
  host(job).budget.hold_back(now + delay);
  return delay;
}

bool TransferLoop::try_again(const JobPointer& job, const Attempt::Outcome& outcome) {
  const auto now = Clock::now();
  const auto delay = heed(*job, outcome, now);
  if (!job->call.retry || has_tried_enough(*job, outcome.serving, now)) return false;
  if (now + delay > job->begin + job->call.patience) return false;
  if (!host(*job).pace.take_retry()) return false;
  job->hedged = false;
  delayed_.emplace(now + delay, job);
  return true;
}

void TransferLoop::deliver(const JobPointer& job, Result<HttpResponse> result) {
  drop_live(job);
  {
    std::scoped_lock lock(mutex_);
    counters_[job->request.url.origin()] = host(*job).pace.counters;
  }
  const StopScope scope(job->stop);  // what follows from the answer is for the same one
  job->done(std::move(result));
}

/// Ends the job's other transfers: their connections are closed, their answers forgotten.
void TransferLoop::drop_live(const JobPointer& job) {
  for (auto it = live_.begin(); job->live > 0 && it != live_.end();) {
    if (it->second.job != job) {
      ++it;
      continue;
    }
    host(*job).pace.ended(it->second.weight, false, Clock::now());
    curl().multi_remove_handle(multi_.get(), it->first);
    it = live_.erase(it);
    --job->live;
  }
}

TransferLoop::Clock::time_point TransferLoop::next_look(Clock::time_point now) const {
  auto until = options_.hedge && !live_.empty() ? next_hedges_ : now + kLongestWait;
  if (!delayed_.empty()) until = std::min(until, delayed_.begin()->first);
  for (const auto& [name, host] : hosts_) {
    const auto not_before = std::max(host.pace.not_before(), host.budget.not_before());
    if (!host.waiting.empty() && not_before > now) until = std::min(until, not_before);
    until = std::min(until, host.budget.next_look(host.wanted()));
  }
  return until;
}

}  // namespace headrace
