// Lengths of samples, for buckets by length: bytes or the measure of one field in the index.
#pragma once

#include <span>
#include <vector>

#include "engine/row_places.h"
#include "engine/setup.h"
#include "plan/schedule.h"

namespace headrace {

/// Belongs to one thread.
class LengthFinder {
 public:
  LengthFinder(const Schedule& schedule, const LoaderOptions& o)
      : schedule_(schedule),
        rule_(length_rule(o)),
        fields_{rule_.field},
        finder_(o.sets, fields_) {}
  LengthFinder(const LengthFinder&) = delete;
  LengthFinder& operator=(const LengthFinder&) = delete;

  /// 0 for a sample that has no such field. After an error they mean nothing.
  void read(std::span<const Row> rows, std::span<uint64_t> lengths) {
    for (size_t i = 0; i < rows.size() && status_.ok(); ++i) {
      const RowOrigin row{.set = rows[i].set,
                          .id = {schedule_.data_shard(rows[i].set, rows[i].shard), rows[i].sample}};
      auto view = finder_.find(row, {});
      if (view.ok())
        lengths[i] = length(**view, row.id.sample);
      else
        status_ = std::move(view).error();
    }
  }
  const Status& status() const { return status_; }

 private:
  uint64_t length(const ShardView& view, uint32_t sample) const {
    for (const uint32_t field : view.sources.front())
      if (const IndexMember* member = view.index->find(sample, field))
        return rule_.unit == Unit::kNone ? member->size : view.index->measure(*member).value;
    return 0;
  }

  const Schedule& schedule_;
  const LengthRule rule_;
  const std::vector<FieldSpec> fields_;
  PlaceFinder finder_;
  Status status_;
};

}  // namespace headrace
