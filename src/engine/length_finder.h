// Lengths of samples, for buckets by length and for packed rows: bytes or the measure of one field
// in the index.
#pragma once

#include <span>
#include <vector>

#include "engine/row_places.h"
#include "engine/setup.h"
#include "plan/lane_rows.h"

namespace headrace {

/// The length of a sample of `index`, whose numbers of the rule's fields are `fields`, in their
/// order. 0 for a sample that has none of them.
Result<uint64_t> sample_length(const LengthRule& rule, const ShardIndex& index,
                               std::span<const uint32_t> fields, uint32_t sample);

/// Belongs to one thread.
class LengthFinder {
 public:
  explicit LengthFinder(const LoaderOptions& o)
      : rule_(length_rule(o)), fields_{rule_.field}, finder_(o.sets, fields_) {}
  LengthFinder(const LengthFinder&) = delete;
  LengthFinder& operator=(const LengthFinder&) = delete;

  /// After an error they mean nothing.
  void read(std::span<const Row> rows, std::span<uint64_t> lengths);
  const Status& status() const { return status_; }

 private:
  Result<uint64_t> length(const Row& row);

  const LengthRule rule_;
  const std::vector<FieldSpec> fields_;
  PlaceFinder finder_;
  Status status_;
};

}  // namespace headrace
