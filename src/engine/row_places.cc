#include "engine/row_places.h"

#include "base/try.h"

namespace headrace {
namespace {

/// Views are forgotten all at once past this; the data sets' own caches soften that.
constexpr uint64_t kViewBudgetBytes = uint64_t{64} << 20;

FieldPlace find_place(const ShardIndex& index, uint32_t sample,
                      const std::vector<uint32_t>& sources) {
  for (const uint32_t field : sources)
    if (const IndexMember* member = index.find(sample, field))
      return {member->offset, member->size, member->object};
  return {};
}

}  // namespace

Result<std::shared_ptr<const ShardView>> PlaceFinder::find(const RowOrigin& row,
                                                           std::span<FieldPlace> places) {
  HR_TRY(auto shard, view(row.set, row.id.shard));
  for (size_t c = 0; c < places.size(); ++c)
    places[c] = find_place(*shard->index, row.id.sample, shard->sources[c]);
  return shard;
}

Result<std::shared_ptr<const ShardView>> PlaceFinder::view(uint32_t set, uint32_t shard) {
  const uint64_t key = uint64_t{set} << 32 | shard;
  if (const auto known = views_.find(key); known != views_.end()) return known->second;
  HR_TRY(auto made, make_view(set, shard));
  views_bytes_ += made->index->memory_bytes();
  if (views_bytes_ > kViewBudgetBytes) {
    views_.clear();
    views_bytes_ = made->index->memory_bytes();
  }
  views_[key] = made;
  return made;
}

Result<std::shared_ptr<const ShardView>> PlaceFinder::make_view(uint32_t set,
                                                                uint32_t shard) const {
  ShardView view;
  HR_TRY(view.index, sets_[set]->index(shard));
  if (view.index->is_archive()) {
    HR_TRY(view.archive, sets_[set]->source(shard, *view.index, 0));
  }
  for (const FieldSpec& field : fields_) {
    std::vector<uint32_t>& numbers = view.sources.emplace_back();
    for (const std::string& source : field.sources)
      if (const int number = view.index->field_number(source); number >= 0)
        numbers.push_back(static_cast<uint32_t>(number));
  }
  return std::make_shared<const ShardView>(std::move(view));
}

}  // namespace headrace
