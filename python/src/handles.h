// The Python objects that several binding files know.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/batch.h"
#include "headrace/dataset.h"

namespace headrace {
class ShardIndex;
}

namespace headrace::python {

/// An open data set; cheap to copy.
struct PySet {
  std::shared_ptr<const Dataset> set;
};

/// A run of samples of one shard that was read at once. Immutable while a sample refers to it.
struct Span {
  std::shared_ptr<const ShardIndex> index;
  std::string shard;
  uint64_t begin = 0;  ///< of the bytes, in the shard
  std::vector<std::byte> bytes;
};

/// A sample as Python holds it: one that was read alone, or a place in a span. Its fields become
/// Python bytes when asked for.
class PySample {
 public:
  PySample() = default;
  explicit PySample(std::shared_ptr<const Sample> alone) : alone_(std::move(alone)) {}
  PySample(std::shared_ptr<const Span> span, uint32_t number)
      : span_(std::move(span)), number_(number) {}

  std::string_view key() const;
  std::vector<std::string_view> fields() const;
  std::optional<ByteView> find(std::string_view field) const;
  Origin origin() const;

 private:
  std::shared_ptr<const Sample> alone_;  ///< or
  std::shared_ptr<const Span> span_;
  uint32_t number_ = 0;
};

using Sets = std::vector<std::shared_ptr<const Dataset>>;

/// A batch, and the data sets that know its rows' keys.
struct PyBatch {
  std::shared_ptr<const Batch> batch;
  std::shared_ptr<const Sets> sets;
};

}  // namespace headrace::python
