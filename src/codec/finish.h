// The last pass of a picture: from 8-bit pixels to the row, mirrored, as numbers of the row's type
// and layout, in one go.
#pragma once

#include <array>
#include <vector>

#include "codec/picture.h"

namespace headrace {

/// What a pixel's byte becomes: a table a channel, so that normalising costs a look-up.
class ValueTables {
 public:
  /// Tables of f32: v, v / 255, or (v / 255 - mean) / std, rounded as torch rounds it: to f32 after
  /// each of the three.
  static ValueTables plain();
  static ValueTables unit_range();
  /// One mean and std a channel, or one for all.
  static ValueTables normalized(const Normalize& normalize);

  /// The table of a channel.
  const float* of(int channel) const {
    return tables_[tables_.size() == 1 ? 0 : static_cast<size_t>(channel)].data();
  }

 private:
  std::vector<std::array<float, 256>> tables_;
};

/// Writes width x height x channels values to `row`.
void write_u8(const Picture& picture, bool mirror, Layout layout, std::byte* row);
void write_f32(const Picture& picture, bool mirror, Layout layout, const ValueTables& tables,
               std::byte* row);

}  // namespace headrace
