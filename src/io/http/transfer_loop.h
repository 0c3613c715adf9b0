// The thread that runs all transfers of a fetcher: who is sent when, what becomes of each answer.
//
// Ownership: owns calls from `start` until their `done`, and the thread.
// Thread-safety: start, counters and the destructor from any thread; all else is the loop's own.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "io/http/attempt.h"
#include "io/http/fetcher.h"
#include "io/http/host_pace.h"
#include "io/http/node_budget.h"
#include "io/http/transfer_events.h"

namespace headrace {

class TransferLoop {
 public:
  explicit TransferLoop(const FetcherOptions& options);
  ~TransferLoop();
  TransferLoop(const TransferLoop&) = delete;
  TransferLoop& operator=(const TransferLoop&) = delete;

  void start(HttpCall call, Fetcher::Done done);
  /// Ends the thread, and all calls with Code::kInterrupted. Not to be called on that thread.
  void stop();
  std::map<std::string, HostCounters> counters() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Job;
  using JobPointer = std::shared_ptr<Job>;
  struct Live {
    std::unique_ptr<Attempt> attempt;
    JobPointer job;
    unsigned weight = 1;                  // with the host's pace
    std::unique_ptr<std::byte[]> memory;  // of a hedge, which may not write into the call's
  };
  struct MoreUrgent {
    bool operator()(const JobPointer& a, const JobPointer& b) const;
  };
  struct Host {
    Host(const FetcherOptions& options, const std::string& name)
        : pace(options), budget(options.node_folder, name, options.max_in_flight) {}
    bool may_send(Clock::time_point now) const {
      return pace.may_send(now) && budget.may_send(pace.in_flight(), now);
    }
    unsigned wanted() const { return pace.wanted(waiting.size()); }

    HostPace pace;
    NodeBudget budget;
    std::set<JobPointer, MoreUrgent> waiting;
  };

  void run();
  void take_incoming();
  void end_stopped();
  void release_delayed(Clock::time_point now);
  void send_waiting(Clock::time_point now);
  void start_hedges(Clock::time_point now);
  void collect_ended();
  Clock::time_point next_look(Clock::time_point now) const;
  std::set<JobPointer> all_jobs() const;
  void interrupt(const JobPointer& job);
  void interrupt_all();

  Host& host(const Job& job);
  void enqueue(const JobPointer& job);
  void send(const JobPointer& job, Host& host, bool hedge);
  void ended(CURL* easy, CURLcode code);
  void judge(const JobPointer& job, Attempt::Outcome outcome);
  bool may_be_repeated(const JobPointer& job, Attempt::Outcome& outcome);
  void follow(const JobPointer& job, const HttpResponse& response);
  bool has_tried_enough(const Job& job, bool serving, Clock::time_point now);
  std::chrono::milliseconds heed(const Job& job, const Attempt::Outcome& outcome,
                                 Clock::time_point now);
  bool try_again(const JobPointer& job, const Attempt::Outcome& outcome);
  void deliver(const JobPointer& job, Result<HttpResponse> result);
  void drop_live(const JobPointer& job);

  const FetcherOptions options_;
  const CurlMulti multi_;
  TransferEvents events_;
  CurlHandles handles_;
  std::mt19937_64 random_{std::random_device{}()};

  mutable std::mutex mutex_;  // guards what comes in, and the counters
  std::vector<JobPointer> incoming_;
  bool stopping_ = false;
  uint64_t sequence_ = 0;
  std::map<std::string, HostCounters> counters_;
  std::atomic<bool> some_stopped_ = false;

  std::map<std::string, Host> hosts_;  // by origin
  std::multimap<Clock::time_point, JobPointer> delayed_;
  std::unordered_map<CURL*, Live> live_;
  Clock::time_point next_hedges_{};  // when slow requests are looked for again
  std::thread thread_;
};

}  // namespace headrace
