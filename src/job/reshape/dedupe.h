// dedupe: of samples whose chosen fields have the same bytes, the first one stays.
// By a digest of 128 bits (XXH3 and XXH64) of names, sizes and bytes. Reads all of these fields.
// Memory: that of the room. Thread-safety: pure but for reading the inputs.
#pragma once

#include <string>
#include <vector>

#include "job/reshape/inputs.h"
#include "job/reshape/rows.h"
#include "job/reshape/spill_sort.h"

namespace headrace {

/// The numbers of the samples that stay, in their order. `fields`: compared; empty: all fields.
Result<Rows> first_of_equal(const Inputs& inputs, const std::vector<std::string>& fields,
                            const WorkRoom& room);

}  // namespace headrace
