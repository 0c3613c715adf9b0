// What a job reads: folders, files and lists of files, as one list of files with their roots.
// Thread-safety: immutable once found.
#pragma once

#include <string>
#include <vector>

#include "io/file.h"
#include "io/file_list.h"

namespace headrace {

/// Paths of files are relative to their root, and keys are made from these paths.
struct SourceRoot {
  std::string name;  ///< with a trailing '/', to put in front of a path for messages; or ""
  File folder;       ///< open for openat()
};

struct Sources {
  FileList files;  ///< sorted by root, then path; with sizes and times
  std::vector<SourceRoot> roots;
  WalkNotes notes;

  std::string full_path(size_t file) const {
    return roots[files[file].root].name + std::string(files.path(file));
  }
};

/// A folder: every file below it, relative to it. A file: its name. `@list.txt`, `-`: the paths as
/// they are written there (a leading "./" or "/" dropped). `skip`: a folder to leave out.
Result<Sources> find_sources(const std::vector<std::string>& sources, bool hidden, unsigned threads,
                             const std::string& skip);

}  // namespace headrace
