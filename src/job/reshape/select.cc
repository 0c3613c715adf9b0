#include "job/reshape/select.h"

#include <optional>
#include <unordered_set>

#include "io/urls.h"
#include "job/pattern.h"
#include "job/reshape/expression.h"

namespace headrace {
namespace {

struct Conditions {
  std::optional<std::unordered_set<std::string>> keys;
  std::optional<Pattern> regex;
  std::optional<Expression> where;

  Result<bool> hold(const ScannedSample& sample) const {
    if (keys && !keys->contains(std::string(sample.key()))) return false;
    if (regex && !regex->matches(sample.key())) return false;
    return where ? where->holds(sample) : Result<bool>(true);
  }
};

Result<std::unordered_set<std::string>> read_keys(const std::string& path) {
  HR_TRY(const std::string text, read_url(path));
  const auto lines = split_list(text);
  return std::unordered_set<std::string>(lines.begin(), lines.end());
}

Result<Conditions> read_conditions(const SelectOptions& options) {
  Conditions conditions;
  if (!options.keys.empty()) {
    HR_TRY(conditions.keys, read_keys(options.keys));
  }
  if (!options.regex.empty()) {
    HR_TRY(conditions.regex, Pattern::compile(options.regex));
  }
  if (!options.where.empty()) {
    HR_TRY(conditions.where, Expression::parse(options.where));
  }
  return conditions;
}

// By shard of all inputs.
Result<std::vector<std::vector<bool>>> in_share(const Inputs& inputs, const HashRange& share,
                                                unsigned threads) {
  std::vector<std::vector<bool>> kept;
  for (const auto& set : inputs.sets()) {
    HR_TRY(Selection selection, select_by_hash(*set, share, threads));
    for (auto& shard : selection.kept) kept.push_back(std::move(shard));
  }
  return kept;
}

}  // namespace

Result<Rows> select_samples(const Inputs& inputs, const SelectOptions& options,
                            const WorkRoom& room) {
  HR_TRY(const Conditions conditions, read_conditions(options));
  HR_TRY(auto kept, in_share(inputs, options.share, room.threads));
  HR_CHECK(scan(inputs, room.threads, [&](uint32_t shard, const ScannedSample& sample) -> Status {
    const uint64_t in_shard = sample.number() - inputs.first_sample(shard);
    bool stays = kept[shard][in_shard];
    if (stays) {
      HR_TRY(stays, conditions.hold(sample));
    }
    kept[shard][in_shard] = stays != options.invert;
    return {};
  }));
  RowsBuilder rows(room.scratch);
  for (uint32_t shard = 0; shard < inputs.shards(); ++shard)
    for (uint32_t i = 0; i < kept[shard].size(); ++i)
      if (kept[shard][i]) HR_CHECK(rows.add(inputs.first_sample(shard) + i));
  return rows.finish();
}

}  // namespace headrace
