// Which sample of the input stands at each position of the output: the primitive that every verb of
// reshaping is made of.
//
//   identity   position p holds sample p                     split, merge, concat, rename
//   permuted   position p holds sample permutation(p)        shuffle: arithmetic, no table
//   listed     position p holds the samples of row p         sort, select, dedupe, join
//
// A row has `columns` samples: one, or for a join one of each set (kNoSample where it has none).
// Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <string>

#include "base/permutation.h"
#include "headrace/bytes.h"
#include "headrace/result.h"
#include "job/reshape/rows.h"

namespace headrace {

inline constexpr uint64_t kNoSample = ~uint64_t{0};

class SampleOrder {
 public:
  enum class Kind { kIdentity, kPermuted, kListed };

  static SampleOrder identity(uint64_t samples);
  static SampleOrder permuted(uint64_t samples, uint64_t key);
  /// `rows` holds `columns` samples a row.
  static SampleOrder listed(Rows rows, uint32_t columns = 1);
  /// The rows from position `first` on, of `size` in all. Only these may be asked for.
  static SampleOrder part(uint64_t size, uint64_t first, Rows rows, uint32_t columns);

  Kind kind() const { return kind_; }
  uint64_t size() const { return size_; }
  uint32_t columns() const { return columns_; }
  /// Of kPermuted.
  uint64_t key() const { return key_; }
  const Permutation& permutation() const { return permutation_; }
  /// Of kListed.
  const Rows& rows() const { return rows_; }

  uint64_t at(uint64_t position, uint32_t column = 0) const {
    switch (kind_) {
      case Kind::kIdentity:
        return position;
      case Kind::kPermuted:
        return permutation_(position);
      case Kind::kListed:
        break;
    }
    return rows_[(position - first_) * columns_ + column];
  }

 private:
  Kind kind_ = Kind::kIdentity;
  uint64_t size_ = 0;
  uint32_t columns_ = 1;
  uint64_t first_ = 0;
  uint64_t key_ = 0;
  Permutation permutation_;
  Rows rows_;
};

}  // namespace headrace
