// What `convert` does to the pictures of a sample, as pack does it; all other fields stay.
#pragma once

#include <memory>

#include "job/map/mapper.h"

namespace headrace {

/// Code::kUsage if the options contradict each other.
Result<std::unique_ptr<Mapper>> make_picture_mapper(const PictureOptions& options);

}  // namespace headrace
