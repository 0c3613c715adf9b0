// The Fetcher sends HTTP requests: many at once, the most urgent first, politely, and again when a
// server or the network fails. Every remote store stands on it.
//
//   start() --> waiting, by (host, deadline) --> in flight, at most the host's limit --> done(…)
//                   ^                                |
//                   `--- full-jitter delay, Retry-After: transport faults, 408 429 500 502 503 504
//
// One thread runs all transfers (curl's multi interface); bodies go straight into the caller's
// memory. Limits, rates and retry budgets belong to a host and are shared by everything in this
// process; the limit and "slow down" by all processes of a node (NodeBudget). A second request is
// sent for a read that takes longer than nearly all others (hedge). A call ends early when the
// thread that started it is told to stop (StopScope).
//
// Ownership: a call's memory is the caller's and lives until `done`. The fetcher outlives its
// calls. Thread-safety: every method may be called from any thread; `done` runs on the fetcher's
// thread and must be short. After fork() a child has none of the parent's threads: it gets its own
// fetcher from `Fetcher::shared()`.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "headrace/network.h"
#include "headrace/result.h"
#include "headrace/store.h"
#include "io/http/http_message.h"

namespace headrace {

/// Puts credentials on a request. Called on the fetcher's thread, once an attempt, so it must not
/// wait: whoever gets credentials over the network does so before, and renews them meanwhile.
/// Thread-safe.
class Signer {
 public:
  virtual ~Signer() = default;
  virtual Status sign(HttpRequest& request) const = 0;
};

/// One request with what belongs to it.
struct HttpCall {
  HttpRequest request;
  /// The object's own name, for messages.
  std::string object;
  Deadline deadline = kNow;
  std::shared_ptr<const Signer> signer = nullptr;
  /// Looks at status and headers before the first byte of the body is taken (range checks have been
  /// made). An error ends the call, but for Code::kPartial, which is tried again.
  std::function<Status(const HttpResponse&)> check = {};
  /// Where the body of a 2xx answer goes, if not into memory: piece by piece, each with its place
  /// in the body. Another attempt begins at 0 again. An error ends the call. Runs on the fetcher's
  /// thread, which must not wait there for long.
  std::function<Status(uint64_t offset, ByteView bytes)> sink = {};
  /// Nothing has shown yet that the server serves ranges: one that is answered with the whole
  /// object ends the call with Code::kUsage, and is not a fault that may pass.
  bool ranges_unknown = false;
  /// Asked when an attempt failed (`answer` is null) or was answered with an error: whether to try
  /// again after the usual delay. `usual` is what would be done without asking; `url` may be
  /// changed to another place of the object. Runs on the fetcher's thread.
  std::function<bool(Url& url, const HttpResponse* answer, bool usual)> again = {};
  /// Whether a second attempt can do harm (a multipart upload's completion).
  bool retry = true;
  /// Redirects that are followed. To another origin neither signer nor headers come along, but for
  /// Range, If-Range and Accept; from https to http never.
  unsigned redirects = 0;
  /// Other origins that are one service with the request's own: the signer goes with a redirect.
  std::function<bool(const Url&)> trusted = {};
  /// From the first attempt to giving up.
  std::chrono::milliseconds patience = std::chrono::minutes(5);
};

struct FetcherOptions {
  unsigned max_in_flight = 256;  ///< requests a host at once; the depth in use is found by itself
  /// Of the node's cache: all processes with the same one keep to that limit together. "": alone.
  std::string node_folder = {};
  unsigned max_attempts = 8;
  /// A server that answered before and takes no connection any more gets at least this long.
  std::chrono::milliseconds restart_time = std::chrono::seconds(10);
  std::chrono::milliseconds first_delay = std::chrono::milliseconds(100);
  std::chrono::milliseconds longest_delay = std::chrono::seconds(20);
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
  /// An attempt that gets fewer than this many bytes a second for this long is given up.
  uint64_t slow_bytes_per_second = 1024;
  std::chrono::seconds slow_for = std::chrono::seconds(15);
  bool hedge = true;
  bool verify_tls = true;
  std::string ca_file = {};
  std::string proxy = {};  ///< empty: http_proxy, https_proxy, no_proxy of the environment
};

class TransferLoop;

class Fetcher {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;

  explicit Fetcher(FetcherOptions options = {});
  /// Calls that are not done end with Code::kInterrupted.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  /// The answer may be any status that is not worth another attempt: see http_error. An Error is a
  /// fault of transport or of the answer itself (wrong range, cut short), after all attempts.
  void start(HttpCall call, Done done);
  /// The same, and waits for it. Not to be called on the fetcher's thread.
  Result<HttpResponse> send(HttpCall call);

  std::map<std::string, HostCounters> counters();
  /// Ends its calls and takes no others.
  void stop();

  /// The one of this process, made when first asked for; options from the environment:
  /// HEADRACE_CA_FILE, HEADRACE_TLS_VERIFY=0 (loud), HEADRACE_MAX_REQUESTS, HEADRACE_CACHE.
  static std::shared_ptr<Fetcher> shared();

 private:
  TransferLoop& loop();

  const FetcherOptions options_;
  std::mutex revive_mutex_;
  std::unique_ptr<TransferLoop> loop_;  // belongs to the process pid_
  std::atomic<pid_t> pid_;
};

}  // namespace headrace
