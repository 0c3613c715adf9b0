// The rows of a column of pictures, as pictures that can be drawn.
#pragma once

#include <vector>

#include "codec/picture.h"
#include "headrace/batch.h"

namespace headrace::cli {

/// Values that were normalised or scaled to [0, 1] are brought back to 0 to 255; the five views of
/// `five_crop` stand one below the other.
class RowPictures {
 public:
  /// Of a column made by `spec`, in Layout::hwc. The column must outlive this.
  RowPictures(const Column& column, const ImageSpec& spec);

  Picture row(size_t i) const;

 private:
  const Column& column_;
  std::vector<uint8_t> levels_;  ///< of a column of floats
};

}  // namespace headrace::cli
