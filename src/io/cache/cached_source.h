// A source that reads through the NodeCache, and CachedReads, which does the work in one process.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "io/cache/cache_file.h"
#include "io/cache/node_cache.h"
#include "io/cache/stream_turn.h"

namespace headrace {

/// Reads of one object by one process: single flight in the process by `flights_`, on the node by
/// the locks of the CacheFile.
///
/// Where the server serves no ranges, one process of the node has the turn (StreamTurn): it streams
/// the object, reads all of it in order, so that the cache has all of it, and ends the turn. The
/// others take from the cache what they wait for. Who closes the object ends it too: what was not
/// kept by then another process has to stream anew.
///
/// Thread-safe. Lives while a read or a request is under way.
class CachedReads : public std::enable_shared_from_this<CachedReads> {
 public:
  CachedReads(std::shared_ptr<NodeCache> cache, std::shared_ptr<const ByteSource> inner,
              std::unique_ptr<CacheFile> file)
      : cache_(std::move(cache)),
        inner_(std::move(inner)),
        file_(std::move(file)),
        turn_(*file_, cache_->options_.patience) {}

  bool is_complete() const { return file_->known_granules() == file_->header().granules(); }
  /// Reads what the cache has, from `offset` on; answers how many bytes.
  uint64_t read_present(uint64_t offset, MutableBytes into);
  void start(uint64_t offset, MutableBytes into, Deadline deadline, const ByteSource::Done& done);
  void will_need(uint64_t offset, uint64_t size) const { file_->will_need(offset, size); }
  /// Nobody will start another read, and nobody waits for one: requests that are under way end.
  void close() {
    closed_ = true;
    stop_.request_stop();
  }

 private:
  class Read;
  struct Request;
  using ReadPointer = std::shared_ptr<Read>;

  void serve(const ReadPointer& read);
  bool join(uint64_t granule, const ReadPointer& read);
  void claim(const std::vector<uint64_t>& granules, Deadline deadline);
  void look_again(uint64_t granule, Deadline deadline, std::chrono::steady_clock::time_point since,
                  std::chrono::milliseconds delay);
  void fetch(uint64_t first, uint64_t last, Deadline deadline, bool streams);
  bool allocate(uint64_t first, uint64_t last);
  void answered(const Request& request, const Status& status);
  void fetched(const Request& request, const Status& status);
  std::vector<ReadPointer> land(uint64_t granule);
  void deliver_from_file(uint64_t granule, const std::vector<ReadPointer>& reads);
  template <typename Task>
  static void post(std::shared_ptr<CachedReads> self, Task task);
  void stream(const ReadPointer& read, uint64_t first, uint64_t last);

  bool may_stream(Deadline deadline);
  void fill(uint64_t first, Deadline deadline);
  void pulse();

  MutableBytes part_of(const Read& read, uint64_t first, uint64_t last, uint64_t* offset) const;
  CacheFile::Found read_part(const Read& read, uint64_t granule);
  uint64_t granules_a_request() const;

  const std::shared_ptr<NodeCache> cache_;
  const std::shared_ptr<const ByteSource> inner_;
  const std::unique_ptr<CacheFile> file_;
  std::mutex mutex_;
  std::map<uint64_t, std::vector<ReadPointer>> flights_;  // granule -> who waits for it
  StreamTurn turn_;
  std::atomic<bool> closed_{false};
  std::stop_source stop_;
};

class CachedSource final : public ByteSource {
 public:
  CachedSource(std::shared_ptr<NodeCache> cache, std::shared_ptr<const CacheLease> lease,
               std::unique_ptr<ByteSource> inner, std::string path, EntryHeader header);
  ~CachedSource() override;

  const std::string& name() const override { return inner_->name(); }
  uint64_t size() const override { return inner_->size(); }
  Status read_at(uint64_t offset, MutableBytes into) const override;
  void will_need(uint64_t offset, uint64_t size) const override;
  /// False once everything is in the cache.
  bool is_remote() const override;
  bool is_spooled() const override { return inner_->is_spooled() && is_remote(); }
  void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                  const Done& done) const override;
  std::string identity() const override { return inner_->identity(); }
  std::string version() const override { return inner_->version(); }

 private:
  /// nullptr: the cache's file could not be opened here.
  CachedReads* reads() const;

  const std::shared_ptr<NodeCache> cache_;
  const std::shared_ptr<const CacheLease> lease_;
  const std::shared_ptr<const ByteSource> inner_;
  const std::string path_;
  const EntryHeader header_;
  PerProcess<std::shared_ptr<CachedReads>> reads_;
};

}  // namespace headrace
