// The folder of a cache: one folder for each data set that is read through it, with one file an
// object.
//
//   CACHE/space                      bytes used, as counted so far
//   CACHE/<digest of the root>/root  the data set's URL; locked (shared) by whoever reads from it
//   CACHE/<digest of the root>/pinned
//   CACHE/<digest of the root>/<digest of the identity>.object
//
// Eviction goes by what the future holds: a loader keeps its shards over all epochs, so what any
// living process reads from will be read again and stays, as does what is pinned. Objects of other
// data sets go, the least recently used first. What then does not fit is not kept: replacing a part
// of a data set by another part of it would gain nothing (docs/cache.md).
//
// Thread-safety: every method may be called from any thread, and any number of processes may work
// on one folder. A CacheFolder is not usable in a child after fork(); a lease is.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headrace/result.h"
#include "io/file.h"

namespace headrace {

/// How much of a disk a cache may use.
struct CacheLimits {
  uint64_t bytes = 0;  ///< 0: no limit
  /// Bytes of the disk that stay free. Nothing: a twentieth of the disk.
  std::optional<uint64_t> reserve = {};
};

/// While it lives, in any process, nothing of its data set is evicted.
class CacheLease {
 public:
  CacheLease(std::string folder, File lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  /// Where the data set's objects are.
  const std::string& folder() const { return folder_; }

 private:
  const std::string folder_;
  const File lock_;
};

/// One data set in a cache.
struct CachedSet {
  std::string folder;
  std::string root;
  bool pinned = false;
  bool in_use = false;
  uint64_t objects = 0;
  uint64_t bytes = 0;     ///< on the disk
  int64_t last_used = 0;  ///< seconds since 1970
};

class CacheFolder {
 public:
  /// Makes the folder if need be.
  static Result<std::unique_ptr<CacheFolder>> open(const std::string& path, CacheLimits limits);

  Result<std::unique_ptr<CacheLease>> lease(const std::string& root);
  /// Counts `bytes` that are about to be written; evicts for them if need be. False: they do not
  /// fit, and are not counted. That took a look at every file: do not ask again at once.
  bool take(uint64_t bytes);

  /// In the order of their roots.
  Result<std::vector<CachedSet>> sets() const;
  Status pin(const std::string& root, bool pinned);
  /// Removes a data set, or, with `root` empty, all of them, pinned or not. Answers those that
  /// were in use and stay.
  Result<std::vector<CachedSet>> clear(const std::string& root);

 private:
  CacheFolder(std::string path, CacheLimits limits, File space)
      : path_(std::move(path)), limits_(limits), space_(std::move(space)) {}

  std::string set_folder(const std::string& root) const;
  bool fits(uint64_t used, uint64_t bytes) const;
  uint64_t make_room(uint64_t bytes);

  const std::string path_;
  const CacheLimits limits_;
  const File space_;
  std::mutex mutex_;
};

/// The objects' files in the folder of a data set, with what they take on the disk.
struct CachedObject {
  std::string path;
  uint64_t bytes = 0;
  int64_t last_used = 0;  ///< nanoseconds since 1970
};
std::vector<CachedObject> cached_objects(const std::string& folder);

}  // namespace headrace
