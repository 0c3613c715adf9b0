// The last pass of a picture: from 8-bit pixels to the row, mirrored, as numbers of the row's type
// and layout, in one go.
#pragma once

#include <array>

#include "codec/picture.h"
#include "codec/pixel_lines.h"

namespace headrace {

/// What becomes of the pixels' bytes, for each channel of a row.
class PixelScale {
 public:
  static PixelScale plain();
  static PixelScale unit_range();
  /// One mean and std a channel, or one for all.
  static PixelScale normalized(const Normalize& normalize);

  /// Of one channel, for a line of that channel alone.
  const LineScale& of(int channel) const { return channels_[static_cast<size_t>(channel)]; }
  /// For a line of interleaved channels.
  const LineScale& interleaved(int channels) const {
    return interleaved_[static_cast<size_t>(channels - 1)];
  }

 private:
  std::array<LineScale, 4> channels_;
  std::array<LineScale, 4> interleaved_;
};

struct RowFormat {
  DType dtype = DType::u8;  ///< u8, f16, bf16 or f32
  Layout layout = Layout::chw;
  bool mirror = false;
  bool stream = false;  ///< past the caches: for rows of a batch, which no cache holds
};

/// Writes width x height x channels values to `row`.
void write_row(const Picture& picture, const RowFormat& format, const PixelScale& scale,
               std::byte* row);

}  // namespace headrace
