// sort: the samples by what is in them. Equal ones keep their order.
// Memory: that of the room. Thread-safety: pure but for reading the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/reshape/inputs.h"
#include "job/reshape/rows.h"
#include "job/reshape/scan.h"
#include "job/reshape/spill_sort.h"

namespace headrace {

struct SortOptions {
  enum class Kind { kText, kNatural, kInteger, kFloat, kMd5 };
  enum class Missing { kError, kLast, kDrop };

  std::string by = "key";  ///< key, size, or a field
  /// How keys and fields compare: as bytes, with numbers in them by value, as numbers without the
  /// space around them, by digest. Sizes are numbers.
  Kind kind = Kind::kText;
  bool reverse = false;
  Missing missing = Missing::kError;  ///< when a sample has no such field, or it is no number
};

/// The samples in their new order, group after group.
struct Sorted {
  Rows rows;
  std::vector<uint64_t> counts;  ///< of each group
};

/// The group of a sample; nothing: it is left out. Called from several threads.
using GroupOf = std::function<Result<std::optional<uint32_t>>(const ScannedSample&)>;

/// `groups` of them, sorted each for itself.
Result<Sorted> sort_samples(const Inputs& inputs, const SortOptions& options, const WorkRoom& room,
                            uint32_t groups, const GroupOf& group_of);

}  // namespace headrace
