// What a job reads: folders, files, lists of files, and the same in any store, as one list of files
// with their roots.
//
//   photos/           every file below it
//   s3://b/photos/    every object below it
//   photos.zip        every member of the archive
//   s3://b-{0..3}/x-{000..999}.jpg, @list.txt    these
//
// Thread-safety: immutable once found; read() and check() from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "headrace/store.h"
#include "io/file.h"
#include "io/file_list.h"

namespace headrace {

/// Paths of files are relative to their root, and keys are made from these paths. One of the three
/// is there.
struct SourceRoot {
  std::string name;  ///< with a trailing '/', to put in front of a path for messages; or ""
  File folder;       ///< open for openat()
  std::shared_ptr<const Store> store = {};
  std::shared_ptr<const ByteSource> archive = {};  ///< as its index sees it
};

struct Sources {
  /// Sorted by root, then path; with sizes. `mtime_ns` pins a file: its time of change, an object's
  /// StoreEntry::identity, or an archive's version; 0 where nothing tells.
  FileList files;
  std::vector<SourceRoot> roots;
  WalkNotes notes;
  /// Of the members of archives: where they lie, by Entry::path_begin.
  std::unordered_map<uint64_t, uint64_t> member_offsets;

  std::string full_path(size_t file) const {
    return roots[files[file].root].name + std::string(files.path(file));
  }
  /// Whether reading takes requests over a network.
  bool are_remote() const;

  /// Bytes of a file from `offset` on. Code::kChanged if it is not what it was when it was listed.
  Status read(uint64_t file, uint64_t offset, MutableBytes into) const;
  /// Whether it still is.
  Status check(uint64_t file) const;
};

/// What pins something of this ByteSource::identity() or version(): 0 for "".
int64_t pin_of(const std::string& identity);

/// Code::kUsage for an address with a query, which may be a signature: plans keep what is named.
Status refuse_query(const std::string& location);

/// A folder: every file below it, relative to it. A file: its name. `@list.txt`, `-`: the paths as
/// they are written there (a leading "./" or "/" dropped); of URLs what follows host or bucket.
/// `skip`: a folder to leave out.
Result<Sources> find_sources(const std::vector<std::string>& sources, bool hidden, unsigned threads,
                             const std::string& skip);

}  // namespace headrace
