// Lengths of samples, for buckets by length: bytes of one field in the index.
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
      : schedule_(schedule), fields_{length_field(o)}, finder_(o.sets, fields_) {}
  LengthFinder(const LengthFinder&) = delete;
  LengthFinder& operator=(const LengthFinder&) = delete;

  /// 0 for a sample that has no such field. After an error they mean nothing.
  void read(std::span<const Row> rows, std::span<uint64_t> lengths) {
    for (size_t i = 0; i < rows.size() && status_.ok(); ++i) {
      FieldPlace place;
      const RowOrigin row{.set = rows[i].set,
                          .id = {schedule_.data_shard(rows[i].set, rows[i].shard), rows[i].sample}};
      auto view = finder_.find(row, {&place, 1});
      if (!view.ok()) status_ = std::move(view).error();
      lengths[i] = place.size;
    }
  }
  const Status& status() const { return status_; }

 private:
  const Schedule& schedule_;
  const std::vector<FieldSpec> fields_;
  PlaceFinder finder_;
  Status status_;
};

}  // namespace headrace
