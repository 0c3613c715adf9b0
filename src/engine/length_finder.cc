#include "engine/length_finder.h"

#include "base/try.h"

namespace headrace {

Result<uint64_t> sample_length(const LengthRule& rule, const ShardIndex& index,
                               std::span<const uint32_t> fields, uint32_t sample) {
  for (const uint32_t field : fields) {
    const IndexMember* member = index.find(sample, field);
    if (member == nullptr) continue;
    if (rule.unit == Unit::kNone) return member->size;
    const Measure measure = index.measure(*member);
    if (measure.unit == rule.unit) return measure.value;
    return Error{.code = Code::kCorrupt,
                 .message = "the manifest says that the field '" + index.fields()[field] +
                            "' was measured in " + std::string(unit_name(rule.unit)) +
                            ", and its index does not",
                 .origin = {},
                 .hint = "Run 'headrace verify'."};
  }
  return uint64_t{0};
}

void LengthFinder::read(std::span<const Row> rows, std::span<uint64_t> lengths) {
  for (size_t i = 0; i < rows.size() && status_.ok(); ++i) {
    auto found = length(rows[i]);
    if (found.ok())
      lengths[i] = *found;
    else
      status_ = std::move(found).error();
  }
}

Result<uint64_t> LengthFinder::length(const Row& row) {
  const RowOrigin origin{.set = row.set, .id = {row.shard, row.sample}};
  HR_TRY(const auto view, finder_.find(origin, {}));
  return sample_length(rule_, *view->index, view->sources.front(), row.sample);
}

}  // namespace headrace
