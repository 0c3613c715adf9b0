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
        status_ = length(**view, row.id.sample, lengths[i]);
      else
        status_ = std::move(view).error();
    }
  }
  const Status& status() const { return status_; }

 private:
  Status length(const ShardView& view, uint32_t sample, uint64_t& into) const {
    into = 0;
    for (const uint32_t field : view.sources.front()) {
      const IndexMember* member = view.index->find(sample, field);
      if (member == nullptr) continue;
      const Measure measure = view.index->measure(*member);
      if (rule_.unit != Unit::kNone && measure.unit != rule_.unit)
        return Error{.code = Code::kCorrupt,
                     .message = "the manifest says that the field '" + view.index->fields()[field] +
                                "' was measured in " + std::string(unit_name(rule_.unit)) +
                                ", and its index does not",
                     .origin = {},
                     .hint = "Run 'headrace verify'."};
      into = rule_.unit == Unit::kNone ? member->size : measure.value;
      return {};
    }
    return {};
  }

  const Schedule& schedule_;
  const LengthRule rule_;
  const std::vector<FieldSpec> fields_;
  PlaceFinder finder_;
  Status status_;
};

}  // namespace headrace
