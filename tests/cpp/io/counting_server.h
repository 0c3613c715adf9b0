// The store below a node cache in its tests: it counts each byte that is read, in memory that
// processes share, and waits or fails when told to.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/cache/node_cache.h"

namespace headrace {

using std::chrono::milliseconds;

inline constexpr uint32_t kGranule = 4096;
inline constexpr const char* kRoot = "test://bucket/set";

inline std::byte byte_at(uint64_t object, uint64_t offset) {
  return static_cast<std::byte>((offset * 2654435761u + object * 40503u) >> 7 & 0xff);
}

/// How often each granule was read, and when to fail. In memory that forked processes share.
class CountingServer {
 public:
  explicit CountingServer(uint64_t bytes, uint64_t objects = 1) : bytes_(bytes), objects_(objects) {
    counts_ = static_cast<std::atomic<uint32_t>*>(
        ::mmap(nullptr, memory(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  /// Waits for reads that nobody waits for any more.
  ~CountingServer() {
    while (under_way > 0) std::this_thread::sleep_for(milliseconds(1));
    ::munmap(counts_, memory());
  }
  CountingServer(const CountingServer&) = delete;
  CountingServer& operator=(const CountingServer&) = delete;

  uint64_t bytes() const { return bytes_; }
  uint64_t objects() const { return objects_; }
  uint64_t granules() const { return (bytes_ + kGranule - 1) / kGranule; }
  std::atomic<uint32_t>& count(uint64_t object, uint64_t granule) {
    return counts_[object * granules() + granule];
  }
  std::atomic<uint32_t>& requests() { return counts_[objects_ * granules()]; }
  std::atomic<uint32_t>& streams() { return counts_[objects_ * granules() + 1]; }
  uint64_t most() const { return *std::max_element(counts_, counts_ + objects_ * granules()); }
  uint64_t total() const {
    return std::accumulate(counts_, counts_ + objects_ * granules(), uint64_t{0});
  }

  std::atomic<milliseconds> delay{milliseconds(0)};
  std::atomic<milliseconds> delay_a_granule{milliseconds(0)};  ///< of a stream
  std::atomic<int> failures{0};
  std::atomic<int> under_way{0};  ///< of this process

 private:
  size_t memory() const { return sizeof(uint32_t) * (objects_ * granules() + 2); }
  const uint64_t bytes_;
  const uint64_t objects_;
  std::atomic<uint32_t>* counts_;
};

class ServedObject : public ByteSource {
 public:
  ServedObject(CountingServer& server, uint64_t object)
      : server_(server),
        object_(object),
        name_(std::string(kRoot) + "/object-" + std::to_string(object) + ".tar") {}

  const std::string& name() const override { return name_; }
  uint64_t size() const override { return server_.bytes(); }
  bool is_remote() const override { return true; }
  std::string identity() const override { return name_ + " v1"; }
  void will_need(uint64_t, uint64_t) const override {}
  Status read_at(uint64_t offset, MutableBytes into) const override {
    std::promise<Status> answer;
    start_read(offset, into, kNow, [&](Status status) { answer.set_value(std::move(status)); });
    return answer.get_future().get();
  }
  void start_read(uint64_t offset, MutableBytes into, Deadline, const Done& done) const override {
    answer_after(server_.delay.load(), [=, this] {
      if (server_.failures.fetch_sub(1) > 0) return done(Error{.message = "the server is down"});
      for (uint64_t i = 0; i < into.size(); ++i) into[i] = byte_at(object_, offset + i);
      ++server_.requests();
      for (uint64_t g = offset / kGranule; g * kGranule < offset + into.size(); ++g)
        ++server_.count(object_, g);
      done({});
    });
  }

 protected:
  /// On a thread. The object may be gone when `answer` returns.
  void answer_after(std::chrono::steady_clock::duration delay,
                    const std::function<void()>& answer) const {
    ++server_.under_way;
    std::thread([&server = server_, delay, answer] {
      std::this_thread::sleep_for(delay);
      answer();
      --server.under_way;
    }).detach();
  }

 private:
  CountingServer& server_;
  const uint64_t object_;
  const std::string name_;
};

inline CacheOptions options(const std::string& folder) {
  return {.folder = folder,
          .limits = {.bytes = 0, .reserve = 0},
          .granule_bytes = kGranule,
          .request_bytes = 4 * kGranule};
}

/// A cache that this process has open, and its sources.
struct Reader {
  Reader(CountingServer& served, const CacheOptions& with)
      : server(served), cache(NodeCache::open(with)), lease(cache->lease(kRoot)) {}
  template <typename Object = ServedObject>
  std::unique_ptr<ByteSource> open(uint64_t object = 0) {
    return cache->wrap(std::make_unique<Object>(server, object), lease);
  }
  CountingServer& server;
  std::shared_ptr<NodeCache> cache;
  std::shared_ptr<const CacheLease> lease;
};

inline ::testing::AssertionResult reads_right(const ByteSource& source, uint64_t object,
                                              uint64_t offset, uint64_t size) {
  std::vector<std::byte> bytes(size);
  if (const Status status = source.read_at(offset, bytes); !status.ok())
    return ::testing::AssertionFailure() << status.error().to_string();
  for (uint64_t i = 0; i < size; ++i)
    if (bytes[i] != byte_at(object, offset + i))
      return ::testing::AssertionFailure() << "wrong byte at " << offset + i;
  return ::testing::AssertionSuccess();
}

inline std::string only_object_file(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".object") return entry.path();
  return "";
}

/// Reads all objects whole, in pieces of any size, in an order of its own.
template <typename Object = ServedObject>
bool read_everything(CountingServer& server, const CacheOptions& with, unsigned seed) {
  Reader reader(server, with);
  std::mt19937 random(seed);
  std::vector<uint64_t> order(server.objects());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::ranges::shuffle(order, random);
  for (const uint64_t object : order) {
    const auto source = reader.template open<Object>(object);
    std::vector<uint64_t> cuts{0, server.bytes()};
    for (int i = 0; i < 30; ++i) cuts.push_back(random() % server.bytes());
    std::ranges::sort(cuts);
    for (size_t i = 1; i < cuts.size(); ++i)
      if (!reads_right(*source, object, cuts[i - 1], cuts[i] - cuts[i - 1])) return false;
  }
  const CacheCounters counters = reader.cache->counters();
  return counters.damaged == 0 && counters.streamed_bytes == 0 && counters.trouble.empty();
}

/// Reads an object twice in a process that may write files of half its size only.
template <typename Object = ServedObject>
bool read_with_small_files(CountingServer& server, const CacheOptions& with) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{server.bytes() / 2, server.bytes() / 2};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  Reader reader(server, with);
  const auto source = reader.template open<Object>();
  return reads_right(*source, 0, 0, server.bytes()) && reads_right(*source, 0, 0, server.bytes()) &&
         !reader.cache->counters().trouble.empty();
}

}  // namespace headrace
