// The Hub's cache on disk, one folder a repository, in the layout that its own client documents, so
// that either reads what the other has written:
//
//   datasets--org--name/refs/main                       the commit of a branch
//                       trees/<commit>.json             every file of a commit
//                       trees/<commit>.few.json         ours: files that were asked for by name
//                       blobs/<etag>                    contents
//                       snapshots/<commit>/<path>  ->   ../../blobs/<etag>
//   .locks/datasets--org--name/<etag>.lock
//
// A cache that cannot be written is read all the same: writing fails without a word, because
// nothing but time is lost. Thread-safe; processes keep apart by locks and renames.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "headrace/bytes.h"
#include "io/file.h"
#include "io/hf/hf_location.h"
#include "io/hf/hf_settings.h"

namespace headrace {

/// One file of a commit.
struct HfFile {
  uint64_t bytes = 0;
  std::string blob_id;   ///< of git: SHA-1
  std::string sha256;    ///< of a large object; else ""
  std::string xet_hash;  ///< or ""

  /// What its answers and the cache call it.
  const std::string& etag() const { return sha256.empty() ? blob_id : sha256; }
};

/// By path.
using HfTree = std::map<std::string, HfFile>;

class HfCache {
 public:
  HfCache(const HfSettings& settings, const HfLocation& repository);

  /// The commit that `revision` named when it was last asked for, not longer ago than `age`.
  std::optional<std::string> read_ref(const std::string& revision, std::chrono::seconds age) const;
  void write_ref(const std::string& revision, const std::string& commit) const;
  /// What the revision names has changed.
  void forget_ref(const std::string& revision) const;
  /// Nothing if it is not there or is not understood.
  /// `name`: of the file in trees/, without .json.
  std::optional<HfTree> read_tree(const std::string& name) const;
  void write_tree(const std::string& name, const HfTree& tree) const;
  /// The files of a snapshot, as far as they are there: for trees that were never listed.
  HfTree scan_snapshot(const std::string& commit) const;

  /// Path of a file's content on this machine, whole; "" if it is not here.
  std::string find(const std::string& commit, const std::string& path, const HfFile& file) const;
  void write_file(const std::string& commit, const std::string& path, const HfFile& file,
                  ByteView bytes) const;

  /// Waits for and holds a lock that all processes of this machine share. Not open if there can be
  /// none.
  File lock(const std::string& name) const;

 private:
  std::string snapshot(const std::string& commit, const std::string& path) const;

  bool write_whole(const std::string& path, ByteView bytes) const;

  const std::string folder_;
  const std::string locks_;
  const bool symlinks_;
};

}  // namespace headrace
