// Where the bytes of a row's columns are: the planned sample looked up in its shard's index.
//
// A PlaceFinder belongs to one thread at a time; the ShardViews it hands out are immutable and
// shared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "format/shard_index.h"
#include "headrace/batch.h"
#include "headrace/dataset.h"
#include "headrace/field.h"

namespace headrace {

/// The bytes one column of one row is made from.
struct FieldPlace {
  static constexpr uint32_t kAbsent = ~uint32_t{0};

  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t object = kAbsent;  ///< kAbsent: the sample has none of the column's sources

  bool absent() const { return object == kAbsent; }
};

/// A shard as rows need it: its index, its archive, and the columns' fields in its own numbering.
struct ShardView {
  std::shared_ptr<const ShardIndex> index;
  std::shared_ptr<const ByteSource> archive;   ///< nullptr: loose files, opened when read
  std::vector<std::vector<uint32_t>> sources;  ///< a column: field numbers, in the recipe's order
};

class PlaceFinder {
 public:
  /// Both outlive the finder.
  PlaceFinder(const std::vector<std::shared_ptr<const Dataset>>& sets,
              const std::vector<FieldSpec>& fields)
      : sets_(sets), fields_(fields) {}

  /// Fills `places` (one a column) and returns the view of the row's shard.
  Result<std::shared_ptr<const ShardView>> find(const RowOrigin& row, std::span<FieldPlace> places);

  struct ShardOfSet {
    uint32_t set;
    uint32_t shard;
    bool operator==(const ShardOfSet&) const = default;
  };
  /// The shards of the rows whose views `find` would have to load, each once.
  std::vector<ShardOfSet> missing(std::span<const RowOrigin> rows) const;
  /// Loads a view for `keep`. Any number of threads may call this, beside one that uses the rest.
  Result<std::shared_ptr<const ShardView>> load(ShardOfSet shard) const;
  void keep(ShardOfSet shard, std::shared_ptr<const ShardView> view);

 private:
  using Views = std::unordered_map<uint64_t, std::shared_ptr<const ShardView>>;

  Result<std::shared_ptr<const ShardView>> view(ShardOfSet shard);

  const std::vector<std::shared_ptr<const Dataset>>& sets_;
  const std::vector<FieldSpec>& fields_;
  Views views_;
  uint64_t views_bytes_ = 0;
};

}  // namespace headrace
