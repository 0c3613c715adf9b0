// The NodeCache keeps what was read of remote objects in files on a local disk, for every process
// of the node. A source that it wraps reads from there, and fetches what is missing in granules of
// about 1 MiB, each of them by one process while the others wait for it.
//
//   read ── granule there? ──▶ from the file
//             │ no        ┌─ got it ──▶ one request for neighbours ──▶ file ──▶ whoever waits
//             └─ lock it ─┤
//                         └─ somebody has it ──▶ look again soon
//
// A cache must never be why a run stops. What cannot be kept (a full disk, a read-only folder) is
// read from the store as without a cache, and CacheCounters::trouble says so.
//
// Ownership: shared by the sources that it wrapped. Thread-safety: every method may be called from
// any thread, also in a child after fork(), which gets threads and locks of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "headrace/cache_counters.h"
#include "headrace/store.h"
#include "io/cache/cache_folder.h"
#include "io/cache/io_threads.h"
#include "io/cache/per_process.h"

namespace headrace {

struct CacheOptions {
  std::string folder;
  CacheLimits limits = {};
  uint32_t granule_bytes = 1 << 20;
  /// Neighbouring granules become one request of at most this size.
  uint64_t request_bytes = 8 << 20;
  /// A process that has held a granule for this long, or has not shown for this long that it goes
  /// on with a stream, may be stopped or cut off: the others wait no longer for it.
  std::chrono::milliseconds patience = std::chrono::seconds(30);
};

/// The folder of HEADRACE_CACHE unless `folder` names one ("off": none), and the limits of
/// HEADRACE_CACHE_SIZE and HEADRACE_CACHE_RESERVE ("200GB"). An empty folder: no cache is wanted.
Result<CacheOptions> cache_options(const std::string& folder);

class NodeCache : public std::enable_shared_from_this<NodeCache> {
 public:
  /// A folder that cannot be used is a cache that keeps nothing.
  static std::shared_ptr<NodeCache> open(CacheOptions options);

  /// A data set, by its URL. While the lease lives, nothing of it is evicted. nullptr if the folder
  /// does not allow it; wrap() then gives its source back.
  std::shared_ptr<const CacheLease> lease(const std::string& root);
  /// `source` read through the cache; or `source` itself if it is local or cannot be told from
  /// others. `content`, if given, is what identifies its bytes without asking the store, as the
  /// checksum that a manifest has; else the source's identity() does.
  std::unique_ptr<ByteSource> wrap(std::unique_ptr<ByteSource> source,
                                   const std::shared_ptr<const CacheLease>& lease,
                                   const std::string& content = "");
  CacheCounters counters() const;

 private:
  friend class CachedReads;
  friend class CachedSource;

  // What belongs to one process.
  struct Here {
    std::unique_ptr<CacheFolder> folder = {};  // nullptr: it could not be opened
    std::atomic<int64_t> keeps_from{0};        // on the steady clock
    std::mutex mutex = {};
    std::string trouble = {};
    IoThreads threads{4};
  };

  explicit NodeCache(CacheOptions options) : options_(std::move(options)) {}
  Here& here() const;

  IoThreads& threads() const;
  /// Whether `bytes` more may be written.
  bool take(uint64_t bytes);
  /// After a write that failed: nothing is written for a while.
  void report(const Error& error);
  /// False for a while after take() or a write failed.
  bool keeps() const;

  const CacheOptions options_;
  PerProcess<Here> here_;
  std::atomic<uint64_t> hit_bytes_{0};
  std::atomic<uint64_t> fetched_bytes_{0};
  std::atomic<uint64_t> streamed_bytes_{0};
  std::atomic<uint64_t> damaged_{0};
};

/// What the objects of one data set are opened through. Empty (no cache is wanted, or the data set
/// is local), it gives sources back as they are. Copies share one lease. Thread-safe.
class CacheUse {
 public:
  CacheUse() = default;
  /// `cache` may be nullptr. `root`: the URL of the data set.
  CacheUse(const std::shared_ptr<NodeCache>& cache, const std::string& root);

  std::unique_ptr<ByteSource> wrap(std::unique_ptr<ByteSource> source,
                                   const std::string& content = "") const {
    return lease_ ? cache_->wrap(std::move(source), lease_, content) : std::move(source);
  }

 private:
  std::shared_ptr<NodeCache> cache_;
  std::shared_ptr<const CacheLease> lease_;
};

}  // namespace headrace
