#include "io/http/fetcher.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <future>
#include <string_view>

#include "headrace/notes.h"
#include "io/cache/node_cache.h"
#include "io/http/transfer_loop.h"

namespace headrace {
namespace {

FetcherOptions options_of_environment() {
  FetcherOptions options;
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text != nullptr ? text : "");
  };
  options.ca_file = value("HEADRACE_CA_FILE");
  options.verify_tls = value("HEADRACE_TLS_VERIFY") != "0";
  if (!options.verify_tls)
    note_once(
        "HEADRACE_TLS_VERIFY=0: certificates are not checked, so whoever is on the way can read "
        "and "
        "change what comes");
  const std::string_view most = value("HEADRACE_MAX_REQUESTS");
  std::from_chars(most.data(), most.data() + most.size(), options.max_in_flight);
  if (const auto cache = cache_options(""); cache.ok()) options.node_folder = cache->folder;
  return options;
}

/// Counters are asked for without making a fetcher for it.
std::atomic<Fetcher*>& shared_if_made() {
  static std::atomic<Fetcher*> made{nullptr};
  return made;
}

}  // namespace

std::map<std::string, HostCounters> network_counters() {
  Fetcher* fetcher = shared_if_made();
  return fetcher != nullptr ? fetcher->counters() : std::map<std::string, HostCounters>();
}

Fetcher::Fetcher(FetcherOptions options)
    : options_(std::move(options)),
      loop_(std::make_unique<TransferLoop>(options_)),
      pid_(getpid()) {}

Fetcher::~Fetcher() {
  if (pid_ != getpid()) [[maybe_unused]]
    const TransferLoop* parents = loop_.release();  // its thread is not here and cannot be joined
}

TransferLoop& Fetcher::loop() {
  if (pid_ == getpid()) return *loop_;
  std::scoped_lock lock(revive_mutex_);
  if (pid_ == getpid()) return *loop_;
  [[maybe_unused]] const TransferLoop* parents = loop_.release();
  loop_ = std::make_unique<TransferLoop>(options_);
  pid_ = getpid();
  return *loop_;
}

void Fetcher::start(HttpCall call, Done done) { loop().start(std::move(call), std::move(done)); }

Result<HttpResponse> Fetcher::send(HttpCall call) {
  std::promise<Result<HttpResponse>> promise;
  auto answer = promise.get_future();
  start(std::move(call),
        [&](Result<HttpResponse> result) { promise.set_value(std::move(result)); });
  return answer.get();
}

std::map<std::string, HostCounters> Fetcher::counters() { return loop().counters(); }

void Fetcher::stop() {
  if (pid_ == getpid()) loop_->stop();
}

std::shared_ptr<Fetcher> Fetcher::shared() {
  // Reads that are under way when the program ends hold the fetcher, whose thread must not outlive
  // what it stands on.
  struct UntilTheEnd {
    std::shared_ptr<Fetcher> fetcher = std::make_shared<Fetcher>(options_of_environment());
    UntilTheEnd() { shared_if_made() = fetcher.get(); }
    ~UntilTheEnd() {
      shared_if_made() = nullptr;
      fetcher->stop();
    }
  };
  static const UntilTheEnd shared;
  return shared.fetcher;
}

}  // namespace headrace
