// Which files a commit has, asking the Hub for no more than is needed:
//
//   a data set with a manifest     that by name: what it names is opened without a question
//   a second file                  the first page of the tree; of a small repository that is all
//   a few more of a large one      by name
//   a file that is not there,
//   many files, or all             the tree, one request a thousand files
//
// What one process was told the others of this machine find in the Hub's cache. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/result.h"
#include "io/hf/hf_cache.h"
#include "io/http/url.h"

namespace headrace {

class HfRepository;

/// Adds the files of one page of a tree, as the Hub's API gives it. False: this is no such page, or
/// it names what lies outside of the repository.
bool add_tree_page(std::string_view body, HfTree* tree);

class HfListing {
 public:
  /// `tree`: if it is known already. `repository` outlives the listing.
  HfListing(const HfRepository& repository, std::string commit,
            std::shared_ptr<const HfTree> tree = nullptr);

  const std::string& commit() const { return commit_; }
  /// Nothing if the commit has no such file.
  Result<std::optional<HfFile>> find(const std::string& path);
  /// What find() would say, if that is known on this machine: no request is made.
  std::optional<std::optional<HfFile>> find_known(const std::string& path);
  Result<std::shared_ptr<const HfTree>> tree();

 private:
  std::optional<std::optional<HfFile>> known(const std::string& path) const;
  bool take_cached_tree();
  void remember(const HfTree& found, const std::string& path);
  Status ask_pages(size_t most);
  Result<HfTree> ask_for(const std::string& path) const;

  const HfRepository& repository_;
  const std::string commit_;
  std::mutex mutex_;
  std::shared_ptr<const HfTree> tree_;
  HfTree few_;    // files that were asked for by name
  HfTree pages_;  // of the tree, until all of it is here
  std::optional<Url> next_page_;
  bool looked_into_cache_ = false;
};

}  // namespace headrace
