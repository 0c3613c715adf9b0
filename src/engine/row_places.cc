#include "engine/row_places.h"

#include <algorithm>

#include "base/try.h"

namespace headrace {
namespace {

/// Views are forgotten all at once past this; the data sets' own caches soften that.
constexpr uint64_t kViewBudgetBytes = uint64_t{64} << 20;

uint64_t key_of(PlaceFinder::ShardOfSet shard) { return uint64_t{shard.set} << 32 | shard.shard; }

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
  HR_TRY(auto shard, view({row.set, row.id.shard}));
  for (size_t c = 0; c < places.size(); ++c)
    places[c] = find_place(*shard->index, row.id.sample, shard->sources[c]);
  return shard;
}

std::vector<PlaceFinder::ShardOfSet> PlaceFinder::missing(std::span<const RowOrigin> rows) const {
  std::vector<ShardOfSet> found;
  for (const RowOrigin& row : rows) {
    const ShardOfSet shard{row.set, row.id.shard};
    if (!views_.contains(key_of(shard)) && std::ranges::find(found, shard) == found.end())
      found.push_back(shard);
  }
  return found;
}

Result<std::shared_ptr<const ShardView>> PlaceFinder::view(ShardOfSet shard) {
  if (const auto known = views_.find(key_of(shard)); known != views_.end()) return known->second;
  HR_TRY(auto made, load(shard));
  keep(shard, made);
  return made;
}

void PlaceFinder::keep(ShardOfSet shard, std::shared_ptr<const ShardView> view) {
  views_bytes_ += view->index->memory_bytes();
  if (views_bytes_ > kViewBudgetBytes) {
    views_bytes_ = view->index->memory_bytes();
    views_.clear();
  }
  views_[key_of(shard)] = std::move(view);
}

Result<std::shared_ptr<const ShardView>> PlaceFinder::load(ShardOfSet shard) const {
  const Dataset& set = *sets_[shard.set];
  ShardView view;
  HR_TRY(view.index, set.index(shard.shard));
  if (view.index->is_archive()) {
    HR_TRY(view.archive, set.source(shard.shard, *view.index, 0));
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
