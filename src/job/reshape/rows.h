// Numbers of samples, as many as there are: in memory while they are few, then in a scratch file
// without a name, which is mapped, so that the system may take its memory back at any time.
// Thread-safety: Rows are immutable and share what they hold; a RowsBuilder belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/result.h"
#include "io/spool.h"

namespace headrace {

class Rows {
 public:
  Rows() = default;
  explicit Rows(std::vector<uint64_t> numbers);

  uint64_t size() const { return numbers_.size(); }
  uint64_t operator[](uint64_t i) const { return numbers_[i]; }
  std::span<const uint64_t> numbers() const { return numbers_; }

 private:
  friend class RowsBuilder;
  std::shared_ptr<const void> owner_;
  std::span<const uint64_t> numbers_;
};

class RowsBuilder {
 public:
  /// `folder`: of the scratch file; empty: TMPDIR.
  explicit RowsBuilder(std::string folder) : spool_(std::make_shared<Spool>(std::move(folder))) {}

  Status add(uint64_t number);
  Status add(std::span<const uint64_t> numbers);
  /// Of those that were added.
  uint64_t size() const { return spool_->size() / sizeof(uint64_t) + buffer_.size(); }
  Result<Rows> finish();

 private:
  Status flush();

  std::shared_ptr<Spool> spool_;
  std::vector<uint64_t> buffer_;
};

}  // namespace headrace
