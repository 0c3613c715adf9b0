// Changes to a repository on their way: files that are written are uploaded, kept aside, and become
// visible together in one commit.
//
//   small (< 1 MiB)   kept in memory until the commit, which asks the Hub how it wants each
//   large             uploaded at once by the LFS protocol: only the digest is left to commit
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "io/hf/hf_repository.h"

namespace headrace {

/// Bytes to be uploaded, and who keeps them alive.
struct HfContent {
  std::string sha256;
  ByteView bytes;
  std::shared_ptr<const void> owner;
};

class HfChanges {
 public:
  explicit HfChanges(std::shared_ptr<HfRepository> repository);

  static constexpr size_t kSmall = size_t{1} << 20;

  /// Uploads what is large now.
  Status add(const std::string& path, HfContent content);
  Status remove(const std::string& path);

  /// Whether `path` will be there after the commit; nothing if it is not touched.
  std::optional<bool> will_exist(const std::string& path) const;
  /// A file that is kept in memory.
  std::optional<std::string> read(const std::string& path) const;
  /// The tree as it will be.
  Result<HfTree> tree() const;

  /// One commit on top of the one that was opened. Another one meanwhile: Code::kChanged. Nothing
  /// to commit: success.
  Status commit();

 private:
  struct Added {
    HfFile file;
    HfContent content;  // of what is not uploaded
    bool is_large = false;
  };

  Result<std::set<std::string>> ask_which_are_large(
      const std::map<std::string, Added>& files) const;
  std::string commit_lines(const std::map<std::string, Added>& files,
                           const std::set<std::string>& removed) const;

  const std::shared_ptr<HfRepository> repository_;
  mutable std::mutex mutex_;
  std::map<std::string, Added> added_;
  std::set<std::string> removed_;
};

}  // namespace headrace
