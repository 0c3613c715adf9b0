// Uploads to a repository's storage of large objects, by the Git LFS batch protocol with the Hub's
// extension for objects in parts.
#pragma once

#include <vector>

#include "io/hf/hf_changes.h"
#include "io/hf/hf_repository.h"

namespace headrace {

/// Uploads those of `contents` that the storage does not have.
Status upload_large(const HfRepository& repository, const std::vector<HfContent>& contents);

}  // namespace headrace
