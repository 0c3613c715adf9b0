// What `index` works on: the folder, whether it holds shards or loose files, and the list of them.
#pragma once

#include <string>

#include "io/file_list.h"
#include "job/index.h"

namespace headrace {

struct IndexInput {
  std::string folder;  ///< names are relative to it
  Container container = Container::kTar;
  FileList shards;  ///< archives: with sizes and times
  std::vector<std::string> notes;
};

/// Errors: kNotFound; kUsage for shards of several folders without a common one, or none at all.
Result<IndexInput> find_index_input(const IndexOptions& options, unsigned threads);

}  // namespace headrace
