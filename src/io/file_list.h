// Files found under a folder: path, size and time of change, in little memory.
//
// Thread-safety: const methods may be called from any thread; adding belongs to one.
// Memory: the bytes of the paths and 32 bytes a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/result.h"

namespace headrace {

class FileList {
 public:
  struct Entry {
    uint64_t path_begin = 0;
    uint64_t bytes = 0;
    int64_t mtime_ns = 0;  ///< time of the last change, nanoseconds since 1970
    uint32_t path_bytes = 0;
    uint32_t root = 0;  ///< number of the root that the path is relative to
  };

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const Entry& operator[](size_t i) const { return entries_[i]; }
  Entry& operator[](size_t i) { return entries_[i]; }
  std::string_view path(size_t i) const {
    return std::string_view(paths_).substr(entries_[i].path_begin, entries_[i].path_bytes);
  }

  void add(std::string_view path, uint32_t root);
  /// Appends all entries of `other`, as files of root `root`.
  void append(const FileList& other, uint32_t root);
  /// By root, then by the bytes of the path.
  void sort();
  /// Keeps the entries for which keep(i) is true.
  template <typename Keep>
  void filter(Keep keep) {
    size_t kept = 0;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (keep(i)) entries_[kept++] = entries_[i];
    entries_.resize(kept);
  }

 private:
  std::vector<Entry> entries_;
  std::string paths_;
};

struct WalkOptions {
  bool hidden = false;    ///< also files and folders whose names start with a dot
  bool sizes = true;      ///< fill in bytes and mtime_ns: one stat a file
  unsigned threads = 1;   ///< that stat
  std::string skip = {};  ///< a folder to leave out (an output inside its own input), or empty
};

/// What a walk found besides the files.
struct WalkNotes {
  uint64_t hidden = 0;            ///< left out because of their names
  uint64_t special = 0;           ///< sockets, pipes, devices
  uint64_t loops = 0;             ///< links to a folder that holds them
  std::vector<Error> unreadable;  ///< files and folders that could not be looked at
};

/// Every regular file under `folder`, links followed, sorted by the bytes of its path relative to
/// `folder` ('/' between parts, as it is on disk: no assumption of UTF-8). An unreadable folder
/// `folder` is an error; unreadable things below it are notes.
Result<FileList> walk(const std::string& folder, const WalkOptions& options, WalkNotes* notes);

/// The mtime_ns of a file that could not be looked at, until it is left out.
inline constexpr int64_t kNoFile = INT64_MIN;

/// Looks at every file of `list` (paths relative to the folder `at`, a descriptor or AT_FDCWD).
/// Those that are not readable regular files are noted and left out.
void stat_files(int at, const std::string& prefix, FileList& list, unsigned threads,
                WalkNotes* notes);

}  // namespace headrace
