// One object's file in the cache: which granules are there, and their bytes.
//
// A granule is written in this order: bytes, then record. So a killed process leaves granules that
// are there or not, and one that a power cut or a disk has damaged does not have its checksum. Each
// process checks a granule once, when it first reads it.
// Whoever fetches a granule holds a lock on its record (an open file description lock): it excludes
// other processes and other CacheFiles, and goes with its process (and the children that have
// inherited its descriptor).
//
// Thread-safety: every method may be called from any thread. A lock belongs to the CacheFile, not
// to a thread. Not usable in a child after fork().
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "headrace/bytes.h"
#include "headrace/result.h"
#include "io/cache/entry_header.h"
#include "io/file.h"

namespace headrace {

class CacheFile {
 public:
  enum class Found { kHere, kMissing, kDamaged };

  /// Opens the file, or makes it. One that is damaged or of another object is replaced.
  static Result<std::unique_ptr<CacheFile>> open(const std::string& path,
                                                 const EntryHeader& header);
  /// Opens a file as it is, whatever object it holds.
  static Result<std::unique_ptr<CacheFile>> open_existing(const std::string& path);

  const EntryHeader& header() const { return header_; }
  /// False for another user's file: what it has can be read, nothing can be added.
  bool writable() const { return writable_; }
  /// Granules that are there, as far as this process has seen.
  uint64_t known_granules() const { return known_.load(std::memory_order_relaxed); }

  /// Fills `into` from `offset` on, a place inside `granule`.
  Found read(uint64_t granule, uint64_t offset, MutableBytes into);
  /// Whether it has a record.
  bool has(uint64_t granule) const { return record(granule) != 0; }
  /// Whether the granule is there and has its checksum.
  Found check(uint64_t granule);

  /// False: someone else has it.
  bool try_lock(uint64_t granule);
  void unlock(uint64_t granule);
  /// Locks that say something of the whole object; see StreamTurn.
  enum class Sign : uint64_t { kTurn = 1, kPulse = 2 };
  bool try_lock(Sign sign);
  void unlock(Sign sign);
  /// By another process or CacheFile.
  bool is_locked(Sign sign) const;
  /// Takes room on the disk for granules first..last, so that a full disk shows before anything is
  /// fetched and others see what is used.
  Status allocate(uint64_t first, uint64_t last);
  /// Call it with the lock. The whole granule.
  Status write(uint64_t granule, ByteView bytes);
  /// Takes a damaged granule out. Call it with the lock.
  void forget(uint64_t granule);

  void will_need(uint64_t offset, uint64_t size) const;

 private:
  enum State : uint8_t { kUnknown, kThere, kChecked };

  CacheFile(std::string path, File file, EntryHeader header, bool writable);

  void count_granules();
  void set_state(uint64_t granule, State state);
  GranuleRecord record(uint64_t granule) const;
  uint64_t record_offset(uint64_t granule) const;
  bool read_bytes(uint64_t offset, MutableBytes into) const;
  Found read_checked(uint64_t granule, MutableBytes whole);

  const std::string path_;
  const File file_;
  const EntryHeader header_;
  const bool writable_;
  const std::unique_ptr<std::atomic<uint8_t>[]> states_;
  std::atomic<uint64_t> known_{0};
};

}  // namespace headrace
