#include "job/reshape/zip.h"

#include <algorithm>

#include "base/try.h"
#include "base/units.h"
#include "job/reshape/order.h"

namespace headrace {
namespace {

Result<uint64_t> rows_of(const Inputs& inputs, JoinMissing missing) {
  const auto& sets = inputs.sets();
  const auto size = [](const auto& set) { return set->size(); };
  const auto [least, most] = std::ranges::minmax(sets, {}, size);
  if (missing == JoinMissing::kLeft) return sets.front()->size();
  if (missing == JoinMissing::kOuter) return most->size();
  if (missing == JoinMissing::kInner || least->size() == most->size()) return least->size();
  return Error{.code = Code::kUsage,
               .message = "'" + least->name() + "' has " +
                          format_number_of(least->size(), "sample") + ", but '" + most->name() +
                          "' " + format_count(most->size()),
               .hint =
                   "Choose with --on-missing inner (as the shortest), left (as the first) or "
                   "outer (as the longest)."};
}

}  // namespace

Result<Rows> zip_samples(const Inputs& inputs, JoinMissing missing, const WorkRoom& room) {
  if (inputs.sets().size() < 2)
    return Error{.code = Code::kUsage,
                 .message = "there is one data set, and nothing to zip with it",
                 .hint = "Name two data sets or more."};
  HR_TRY(const uint64_t count, rows_of(inputs, missing));
  RowsBuilder rows(room.scratch);
  for (uint64_t row = 0; row < count; ++row)
    for (size_t set = 0; set < inputs.sets().size(); ++set) {
      const bool there = row < inputs.sets()[set]->size();
      HR_CHECK(rows.add(there ? inputs.set_begin(set) + row : kNoSample));
    }
  return rows.finish();
}

}  // namespace headrace
